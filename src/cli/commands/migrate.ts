import { CapstanError, messageOf } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { databaseOf } from '../cluster/connect.js'
import { databaseFlags } from '../cluster/database-flags.js'
import type { Command } from '../command.js'
import { CommandLineError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { write } from '../io.js'
import { placeFlags } from '../setup/session-flags.js'

export const command: Command = {
  usage: ['[--database URL]'],
  description: `Creates the tables of a cluster in a Postgres database, or migrates them to this version. It can be repeated, and workers can run
meanwhile.`,
  options: [
    ...databaseFlags,
    { name: 'json', summary: 'Print JSON' },
    ...placeFlags.filter(({ name }) => name === 'config'),
  ],
  examples: [
    {
      line: 'capstan migrate --database postgres://owner@db.example/capstan',
      comment: 'Create or migrate the tables',
    },
  ],
  async run(args, io) {
    const { url, schema, maxWaitMs } = await databaseOf(args, io)
    const { migrate } = await import('../../postgres/index.js')
    const migrated = await migrate(url, { schema, maxWaitMs }).catch((error: unknown) => {
      throw new CommandLineError(
        `The tables could not be created: ${messageOf(error)}`,
        isRefused(error)
          ? 'Use the owner of the database, or give the role the right: grant create on database NAME to ROLE'
          : undefined,
      )
    })
    const queue = migrated.hasQueue
      ? ''
      : ' The queue of runs needs the package pg-boss, which is not installed.'
    const text = `The schema ${migrated.schema} has version ${migrated.version}.${queue}`
    await write(io.stdout, args.has('json') ? `${JSON.stringify(migrated)}\n` : `${text}\n`)
    return exitCodes.done
  },
}

/** Whether the server rejected the statement because of missing permissions: the SQLSTATE insufficient_privilege. */
function isRefused(error: unknown): boolean {
  const cause = error instanceof CapstanError ? error.cause : undefined
  return isRecord(cause) && cause['code'] === '42501'
}
