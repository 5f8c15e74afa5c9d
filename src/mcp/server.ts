/** The tools as a server of the Model Context Protocol, by its official SDK, which is installed beside the service. */
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { KindredClient } from '../client/client.ts';
import { failureText, tools } from './tools.ts';

const instructions =
  'Kindred stores typed objects with metadata, spec and status. Call list_types first, then describe_type before you query or change objects of a type. Try every change with propose_change, and show the user what differs before write_object.';

export interface McpOptions {
  /** Version of the service, or of this command. */
  readonly version: string;
  /** Only tools that change nothing. */
  readonly readOnly?: boolean;
}

/** @throws when the SDK is not installed */
export async function createMcpServer(
  client: KindredClient,
  { version, readOnly = false }: McpOptions,
): Promise<Server> {
  const { Server } = await import('@modelcontextprotocol/sdk/server/index.js');
  const { CallToolRequestSchema, ListToolsRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const offered = tools.filter((tool) => tool.readOnly || !readOnly);
  const server = new Server({ name: 'kindred', version }, { capabilities: { tools: {} }, instructions });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: offered.map(({ name, title, description, inputSchema, readOnly: isReadOnly, destructive }) => ({
      name,
      title,
      description,
      inputSchema,
      annotations: { title, readOnlyHint: isReadOnly, destructiveHint: destructive, openWorldHint: false },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = offered.find(({ name }) => name === params.name);
    if (!tool) return answer(`There is no tool "${params.name}"`, true);
    try {
      return answer(JSON.stringify(await tool.run(client.with({ signal }), params.arguments ?? {})), false);
    } catch (error) {
      return answer(failureText(error), true);
    }
  });
  return server;
}

/** Whether an error says that the package is not there, which is for whoever serves agents to install. */
export function isSdkMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
}

function answer(text: string, isError: boolean) {
  return { content: [{ type: 'text' as const, text }], ...(isError && { isError }) };
}
