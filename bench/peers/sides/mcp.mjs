// A server's tool called through the clients of other libraries.
import { args, command, echoes } from '../../ours/echoes.mjs'
import { load } from '../contract.mjs'

const hi = { message: 'hi' }

/** @type {Record<string, import('../sides.mjs').Side>} */
export const sides = {
  ai: {
    title: '@ai-sdk/mcp',
    async open() {
      const [{ createMCPClient }, { Experimental_StdioMCPTransport: Transport }] = await Promise.all(
        ['@ai-sdk/mcp', '@ai-sdk/mcp/mcp-stdio'].map(load),
      )
      const client = await createMCPClient({ transport: new Transport({ command, args }) })
      const { echo } = await client.tools()
      return echoes(
        () => echo.execute(hi, { toolCallId: 'one', messages: [] }),
        () => client.close(),
      )
    },
  },
  'openai-agents': {
    title: '@openai/agents, MCPServerStdio',
    async open() {
      const { MCPServerStdio } = await load('@openai/agents')
      const server = new MCPServerStdio({ command, args, cacheToolsList: true })
      await server.connect()
      return echoes(
        () => server.callTool('echo', hi),
        () => server.close(),
      )
    },
  },
  langgraph: {
    title: '@langchain/mcp-adapters',
    async open() {
      const { MultiServerMCPClient } = await load('@langchain/mcp-adapters')
      const client = new MultiServerMCPClient({ tiny: { transport: 'stdio', command, args } })
      const [echo] = await client.getTools()
      return echoes(
        () => echo.invoke(hi),
        () => client.close(),
      )
    },
  },
  strands: {
    title: '@strands-agents/sdk, McpClient',
    async open() {
      const [{ McpClient }, { StdioClientTransport }] = await Promise.all(
        ['@strands-agents/sdk', '@modelcontextprotocol/sdk/client/stdio.js'].map(load),
      )
      const client = new McpClient({ transport: new StdioClientTransport({ command, args }) })
      const [echo] = await client.listTools()
      return echoes(
        () => client.callTool(echo, hi),
        () => client.disconnect(),
      )
    },
  },
  adk: {
    title: '@google/adk, MCPToolset (a new server for each call)',
    async open() {
      const { MCPToolset } = await load('@google/adk')
      const set = new MCPToolset({ type: 'StdioConnectionParams', serverParams: { command, args } })
      const [echo] = await set.getTools()
      const side = echoes(
        () => echo.runAsync({ args: hi, toolContext: {} }),
        () => set.close(),
      )
      // This library starts the server again for every call.
      return { ...side, slow: 50 }
    },
  },
  voltagent: {
    title: '@voltagent/core, MCPConfiguration',
    async open() {
      const { MCPConfiguration } = await load('@voltagent/core')
      const mcp = new MCPConfiguration({ servers: { tiny: { type: 'stdio', command, args } } })
      const [echo] = await mcp.getTools()
      return echoes(
        () => echo.execute(hi),
        () => mcp.disconnect(),
      )
    },
  },
  mastra: { title: '@mastra/core', cannot: 'its MCP client is another package that wants a newer Node' },
  pi: { title: 'pi-agent-core', cannot: 'it has no MCP client' },
  tanstack: { title: '@tanstack/ai', cannot: 'it has no MCP client' },
}
