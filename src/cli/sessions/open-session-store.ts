import { load, type RestoredSession } from '../../session/journal/restore.js'
import type { SessionStore } from '../../store/session-store.js'
import type { Args } from '../args.js'
import { CommandLineError, UsageError } from '../errors.js'
import type { Io } from '../io.js'
import { settingsOf } from '../setup/load-settings.js'
import { openStore } from '../setup/open-store.js'

/** The session store and the directory of the command. */
export type OpenedStore = {
  readonly store: SessionStore
  readonly workspace: string
  readonly userDir: string
}

export async function openSessionStore(args: Args, io: Io): Promise<OpenedStore> {
  const { root: workspace, userDir, config } = await settingsOf(args, io)
  const store = await openStore({ named: args.value('store'), config, userDir }, io)
  if (store === undefined) throw new UsageError('This command needs a session store.', 'Remove --store none.')
  return { store, workspace, userDir }
}

/** Resolves an id, or its first characters, to the id of a session. */
export async function findSession(store: SessionStore, given: string | undefined): Promise<string> {
  if (given === undefined || given === '')
    throw new UsageError('Missing argument: ID', '"capstan sessions list" lists the sessions.')
  const ids = (await store.list()).map(({ id }) => id)
  if (ids.includes(given)) return given
  const found = ids.filter((id) => id.startsWith(given))
  const [only, other] = found
  if (only !== undefined && other === undefined) return only
  throw new CommandLineError(
    found.length === 0
      ? `No session ${JSON.stringify(given)}.`
      : `${found.length} session ids start with ${JSON.stringify(given)}.`,
    '"capstan sessions list --all" lists the sessions.',
  )
}

export async function loadSession(store: SessionStore, id: string): Promise<RestoredSession> {
  const state = await load(store, id)
  if (state === undefined) throw new CommandLineError(`No session ${JSON.stringify(id)}.`)
  return state
}
