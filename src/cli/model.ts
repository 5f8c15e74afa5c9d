import { Command } from 'commander';
import type { Io } from './io.ts';
import { modelCheckCommand } from './model-check.ts';
import { modelDiffCommand } from './model-diff.ts';

export function modelCommand(io: Io): Command {
  return new Command('model')
    .description('what a new version of a plugin changes in its models, and what that means for stored objects')
    .addCommand(modelDiffCommand(io))
    .addCommand(modelCheckCommand(io));
}
