import { Command } from 'commander';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';
import { ownManifest } from './own-manifest.ts';

interface Flags extends ConnectionFlags {
  readOnly?: boolean;
}

export function mcpCommand(io: Io): Command {
  const command = new Command('mcp')
    .description('serve agents over standard input and output, by the Model Context Protocol')
    .option('--read-only', 'offer no tool that changes objects')
    .addHelpText(
      'after',
      '\nAgents start this command themselves. In their settings: command "kindred", arguments "mcp --server URL",\nand KINDRED_TOKEN in the environment. Their tools can do what the token can.\nNeeds the package @modelcontextprotocol/sdk beside kindred.',
    )
    .action(async ({ readOnly, ...flags }: Flags) => {
      const { createMcpServer, isSdkMissing } = await import('../mcp/server.ts');
      const client = connect(flags, io, { headers: { 'accept-language': 'en' } });
      const server = await createMcpServer(client, {
        version: ownManifest().version,
        ...(readOnly && { readOnly }),
      }).catch((error: unknown) => {
        if (!isSdkMissing(error)) throw error;
        throw new UsageError('The package @modelcontextprotocol/sdk is missing: npm install @modelcontextprotocol/sdk');
      });
      const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
      const closed = Promise.withResolvers<void>();
      server.onclose = closed.resolve;
      io.stdin.once('end', () => void server.close());
      await server.connect(new StdioServerTransport(io.stdin as never, io.stdout as never));
      await closed.promise;
    });
  return withConnection(command, io);
}
