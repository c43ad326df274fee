import { workspaceRoot } from '../../agent/workspace-root.js'
import { load, type RestoredSession } from '../../session/journal/restore.js'
import type { SessionStore } from '../../store/session-store.js'
import type { Args } from '../args.js'
import { CommandLineError, UsageError } from '../errors.js'
import type { Io } from '../io.js'
import { loadSettings } from '../setup/load-settings.js'
import { openStore } from '../setup/open-store.js'
import { userDirOf } from '../setup/user-dir.js'

/** The store that the flags name, and the directory that the command is called for. */
export type OpenedStore = {
  readonly store: SessionStore
  readonly workspace: string
  readonly userDir: string
}

export async function openSessionStore(args: Args, io: Io): Promise<OpenedStore> {
  const userDir = userDirOf(io)
  const workspace = workspaceRoot(args.value('directory') ?? '.', io.cwd)
  const { config } = await loadSettings({ root: workspace, userDir }, io, args.value('config'))
  const store = await openStore({ named: args.value('store'), config, userDir }, io)
  if (store === undefined) throw new UsageError('There is no store to look into.', 'Leave out --store none.')
  return { store, workspace, userDir }
}

/** The session that an id, or the beginning of one, means. */
export async function findSession(store: SessionStore, given: string | undefined): Promise<string> {
  if (given === undefined || given === '')
    throw new UsageError(
      'Which session? Give its id, or the beginning of it.',
      '"capstan sessions list" has them.',
    )
  const ids = (await store.list()).map(({ id }) => id)
  if (ids.includes(given)) return given
  const found = ids.filter((id) => id.startsWith(given))
  const [only, other] = found
  if (only !== undefined && other === undefined) return only
  throw new CommandLineError(
    found.length === 0
      ? `There is no session ${JSON.stringify(given)}.`
      : `${JSON.stringify(given)} is the beginning of ${found.length} sessions.`,
    '"capstan sessions list --all" has them.',
  )
}

export async function loadSession(store: SessionStore, id: string): Promise<RestoredSession> {
  const state = await load(store, id)
  if (state === undefined) throw new CommandLineError(`There is no session ${JSON.stringify(id)}.`)
  return state
}
