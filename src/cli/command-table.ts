import type { Command } from './command.js'

export type CommandEntry = {
  readonly name: string
  readonly summary: string
  load(): Promise<Command>
}

/** Every subcommand. Only the one that is called is loaded. */
export const commandTable: readonly CommandEntry[] = [
  {
    name: 'chat',
    summary: 'an interactive session on this directory; the same as capstan alone',
    load: async () => (await import('./interactive/command.js')).command,
  },
  {
    name: 'run',
    summary: 'do what a prompt says, without anybody being asked',
    load: async () => (await import('./commands/run.js')).command,
  },
  {
    name: 'trust',
    summary: 'confirm the capstan.acl that came with this directory',
    load: async () => (await import('./commands/trust.js')).command,
  },
]
