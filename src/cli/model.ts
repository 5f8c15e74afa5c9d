import { Command } from 'commander';
import type { Io } from './io.ts';
import { modelCheckCommand } from './model-check.ts';
import { modelDiffCommand } from './model-diff.ts';
import { modelFinalizeCommand, modelHoldCommand, modelRollbackCommand } from './model-finalize.ts';
import { modelMoveCommand } from './model-move.ts';
import { modelPlanCommand } from './model-plan.ts';
import { modelStatusCommand } from './model-status.ts';

export function modelCommand(io: Io): Command {
  return new Command('model')
    .description('the models that are active, and what a new version of a plugin means for stored objects and clients')
    .addCommand(modelDiffCommand(io))
    .addCommand(modelCheckCommand(io))
    .addCommand(modelPlanCommand(io))
    .addCommand(modelStatusCommand(io))
    .addCommand(modelFinalizeCommand(io))
    .addCommand(modelHoldCommand(io))
    .addCommand(modelRollbackCommand(io))
    .addCommand(modelMoveCommand(io));
}
