import type { CommandEntry } from './command.js'

/** Every subcommand. Only the one that is called is loaded. */
export const commandTable: readonly CommandEntry[] = [
  {
    name: 'chat',
    summary: 'an interactive session on this directory; the same as capstan alone',
    load: async () => (await import('./interactive/command.js')).command,
  },
  {
    name: 'tour',
    summary: 'see it at work on a sample project, without a key',
    load: async () => (await import('./interactive/tour/command.js')).command,
  },
  {
    name: 'run',
    summary: 'do what a prompt says, without anybody being asked',
    load: async () => (await import('./commands/run.js')).command,
  },
  {
    name: 'sessions',
    summary: 'list, show, go on with, fork, replay, compare, move and remove kept sessions',
    load: async () => (await import('./commands/sessions.js')).command,
  },
  {
    name: 'tools',
    summary: 'list the tools, call one, or explain why a call would be allowed or not',
    load: async () => (await import('./commands/tools.js')).command,
  },
  {
    name: 'program',
    summary: 'run a script that calls tools, in its sandbox',
    load: async () => (await import('./commands/program.js')).command,
  },
  {
    name: 'verify',
    summary: 'run the checks that this project offers',
    load: async () => (await import('./commands/verify.js')).command,
  },
  {
    name: 'serve',
    summary: 'serve an agent directory: run its schedules',
    load: async () => (await import('./commands/serve.js')).command,
  },
  {
    name: 'check',
    summary: 'check an agent directory, and list all that is wrong with it',
    load: async () => (await import('./commands/check.js')).command,
  },
  {
    name: 'mcp',
    summary: 'offer the tools to another agent, as an MCP server on standard input and output',
    load: async () => (await import('./commands/mcp.js')).command,
  },
  {
    name: 'rules',
    summary: 'list, add, remove and test rules; confirm those that came with this directory',
    load: async () => (await import('./commands/rules.js')).command,
  },
  {
    name: 'trust',
    summary: 'confirm the capstan.acl that came with this directory',
    load: async () => (await import('./commands/trust.js')).command,
  },
  {
    name: 'doctor',
    summary: 'look at this machine: Node, search, sandbox, models, store',
    load: async () => (await import('./commands/doctor.js')).command,
  },
  {
    name: 'init',
    summary: 'write a commented configuration and an example agent directory',
    load: async () => (await import('./commands/init.js')).command,
  },
  {
    name: 'completion',
    summary: 'print the completion script of a shell',
    load: async () => (await import('./commands/completion.js')).command,
  },
]
