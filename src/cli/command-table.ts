import type { Command, CommandEntry } from './command.js'

/** All subcommands. Only the called one is loaded. */
export const commandTable: readonly CommandEntry[] = [
  entry(
    'chat',
    'Start an interactive session in this directory (the default)',
    () => import('./interactive/command.js'),
  ),
  entry(
    'tour',
    'Try Capstan on a sample project, without an API key',
    () => import('./interactive/tour/command.js'),
  ),
  entry('run', 'Run one prompt non-interactively', () => import('./commands/run.js')),
  entry(
    'sessions',
    'List, show, resume, fork, replay, compare, export, import and remove saved sessions',
    () => import('./commands/sessions.js'),
  ),
  entry(
    'tools',
    'List the tools, call one, or explain why a call would be allowed or denied',
    () => import('./commands/tools.js'),
  ),
  entry('models', 'List models with their limits and prices', () => import('./commands/models.js')),
  entry(
    'memory',
    'List, show and delete what agents remember across sessions',
    () => import('./commands/memory.js'),
  ),
  entry('program', 'Run a sandboxed script that calls tools', () => import('./commands/program.js')),
  entry('verify', "Run the project's checks: tests, types, lint", () => import('./commands/verify.js')),
  entry('serve', 'Run the schedules of an agent directory', () => import('./commands/serve.js')),
  entry(
    'server',
    'Serve sessions over HTTP, for web apps, other languages and several clients',
    () => import('./commands/server.js'),
  ),
  entry(
    'inspect',
    'Show live and saved sessions in the browser, and why each call was allowed',
    () => import('./commands/inspect.js'),
  ),
  entry('worker', 'Execute runs of a cluster', () => import('./commands/worker.js')),
  entry(
    'runs',
    'Submit runs to a cluster; list, follow, cancel, steer and answer them',
    () => import('./commands/runs.js'),
  ),
  entry('cluster', 'Print the state of a cluster, or drain a node', () => import('./commands/cluster.js')),
  entry('migrate', 'Create or migrate the tables of a cluster', () => import('./commands/migrate.js')),
  entry('check', 'Check an agent directory and list every problem', () => import('./commands/check.js')),
  entry(
    'mcp',
    'Serve the tools to another agent, as an MCP server on standard input and output',
    () => import('./commands/mcp.js'),
  ),
  entry(
    'acp',
    'Serve an editor over the Agent Client Protocol, on standard input and output',
    () => import('./commands/acp.js'),
  ),
  entry(
    'rules',
    'List, add, remove and test permission rules; confirm rule files of this directory',
    () => import('./commands/rules.js'),
  ),
  entry('trust', 'Confirm the capstan.acl of this directory', () => import('./commands/trust.js')),
  entry(
    'doctor',
    'Check this machine: Node, search, sandbox, configuration, model, MCP servers, session store',
    () => import('./commands/doctor.js'),
  ),
  entry(
    'init',
    'Write a commented configuration and an example agent directory',
    () => import('./commands/init.js'),
  ),
  entry(
    'completion',
    'Print a completion script for bash, zsh or fish',
    () => import('./commands/completion.js'),
  ),
]

function entry(name: string, summary: string, load: () => Promise<{ command: Command }>): CommandEntry {
  return { name, summary, load: async () => (await load()).command }
}
