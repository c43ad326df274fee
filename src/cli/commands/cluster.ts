import { databaseFlags } from '../cluster/database-flags.js'
import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { placeFlags } from '../setup/session-flags.js'

export const command: Command = {
  usage: ['status [--watch] [--json]', 'drain NODE'],
  actions: {
    status: 'Print the nodes, the lanes, takeovers and dead letters',
    drain: 'Make a node release its runs and end',
  },
  options: [
    ...databaseFlags,
    {
      name: 'watch',
      summary: 'status: Refresh every two seconds; redrawn in place on a terminal, appended when piped',
    },
    { name: 'json', summary: 'Print JSON' },
    ...placeFlags.filter(({ name }) => name === 'config'),
  ],
  examples: [
    { line: 'capstan cluster status --watch', comment: 'Watch the cluster' },
    { line: 'capstan cluster drain 7', comment: 'Drain a node, by its id or its name' },
  ],
  async run(args, io) {
    const [action = 'status'] = args.positionals
    const { drainNode, printStatus } = await import('../cluster/status.js')
    if (action === 'status') return printStatus(args, io)
    if (action === 'drain') return drainNode(args.after(1), io)
    throw new UsageError(`Unknown action ${JSON.stringify(action)}.`, 'Actions: status, drain.')
  },
}
