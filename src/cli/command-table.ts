import type { CommandEntry } from './command.js'

/** All subcommands. Only the called one is loaded. */
export const commandTable: readonly CommandEntry[] = [
  {
    name: 'chat',
    summary: 'Start an interactive session in this directory (the default)',
    load: async () => (await import('./interactive/command.js')).command,
  },
  {
    name: 'tour',
    summary: 'Try Capstan on a sample project, without an API key',
    load: async () => (await import('./interactive/tour/command.js')).command,
  },
  {
    name: 'run',
    summary: 'Run one prompt non-interactively',
    load: async () => (await import('./commands/run.js')).command,
  },
  {
    name: 'sessions',
    summary: 'List, show, resume, fork, replay, compare, export, import and remove saved sessions',
    load: async () => (await import('./commands/sessions.js')).command,
  },
  {
    name: 'tools',
    summary: 'List the tools, call one, or explain why a call would be allowed or denied',
    load: async () => (await import('./commands/tools.js')).command,
  },
  {
    name: 'models',
    summary: 'List models with their limits and prices',
    load: async () => (await import('./commands/models.js')).command,
  },
  {
    name: 'memory',
    summary: 'List, show and delete what agents remember across sessions',
    load: async () => (await import('./commands/memory.js')).command,
  },
  {
    name: 'program',
    summary: 'Run a sandboxed script that calls tools',
    load: async () => (await import('./commands/program.js')).command,
  },
  {
    name: 'verify',
    summary: "Run the project's checks: tests, types, lint",
    load: async () => (await import('./commands/verify.js')).command,
  },
  {
    name: 'serve',
    summary: 'Run the schedules of an agent directory',
    load: async () => (await import('./commands/serve.js')).command,
  },
  {
    name: 'server',
    summary: 'Serve sessions over HTTP, for web apps, other languages and several clients',
    load: async () => (await import('./commands/server.js')).command,
  },
  {
    name: 'inspect',
    summary: 'Show live and saved sessions in the browser, and why each call was allowed',
    load: async () => (await import('./commands/inspect.js')).command,
  },
  {
    name: 'worker',
    summary: 'Execute runs of a cluster',
    load: async () => (await import('./commands/worker.js')).command,
  },
  {
    name: 'runs',
    summary: 'Submit runs to a cluster; list, follow, cancel, steer and answer them',
    load: async () => (await import('./commands/runs.js')).command,
  },
  {
    name: 'cluster',
    summary: 'Print the state of a cluster, or drain a node',
    load: async () => (await import('./commands/cluster.js')).command,
  },
  {
    name: 'migrate',
    summary: 'Create or migrate the tables of a cluster',
    load: async () => (await import('./commands/migrate.js')).command,
  },
  {
    name: 'check',
    summary: 'Check an agent directory and list every problem',
    load: async () => (await import('./commands/check.js')).command,
  },
  {
    name: 'mcp',
    summary: 'Serve the tools to another agent, as an MCP server on standard input and output',
    load: async () => (await import('./commands/mcp.js')).command,
  },
  {
    name: 'acp',
    summary: 'Serve an editor over the Agent Client Protocol, on standard input and output',
    load: async () => (await import('./commands/acp.js')).command,
  },
  {
    name: 'rules',
    summary: 'List, add, remove and test permission rules; confirm rule files of this directory',
    load: async () => (await import('./commands/rules.js')).command,
  },
  {
    name: 'trust',
    summary: 'Confirm the capstan.acl of this directory',
    load: async () => (await import('./commands/trust.js')).command,
  },
  {
    name: 'doctor',
    summary: 'Check this machine: Node, search, sandbox, configuration, model, MCP servers, session store',
    load: async () => (await import('./commands/doctor.js')).command,
  },
  {
    name: 'init',
    summary: 'Write a commented configuration and an example agent directory',
    load: async () => (await import('./commands/init.js')).command,
  },
  {
    name: 'completion',
    summary: 'Print a completion script for bash, zsh or fish',
    load: async () => (await import('./commands/completion.js')).command,
  },
]
