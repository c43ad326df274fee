import { load } from '../../session/journal/restore.js'
import type { SessionStore } from '../../store/session-store.js'
import { isRecord } from '../../tool/json.js'
import type { Args } from '../args.js'
import { UsageError } from '../errors.js'
import { mainSessions } from '../sessions/main-sessions.js'

/** The session that the options select. */
export type ChosenSession = {
  readonly id: string
  /** A note about the permissions that the session resumes with. */
  readonly note?: string | undefined
  /** Whether the store has no session with this id yet. */
  readonly isNew?: true
}

/** Reads `--session` and `--continue`. A session resumes in its own directory, with its own permissions. */
export async function chooseSession(
  args: Args,
  store: SessionStore | undefined,
  workspace: string,
): Promise<ChosenSession | undefined> {
  const named = args.value('session')
  if (!args.has('continue')) return named === undefined ? undefined : checked(args, store, workspace, named)
  if (named !== undefined) throw new UsageError('--session and --continue cannot be given together.')
  if (store === undefined) throw new UsageError('--continue needs a session store.', 'Remove --store none.')
  const mine = mainSessions(store, ({ workspaceRoot }) => workspaceRoot === workspace)
  const { value: newest } = await mine.next()
  if (!newest)
    throw new UsageError(
      'This directory has no session to resume.',
      '"capstan sessions list --all" lists the sessions of all directories.',
    )
  return checked(args, store, workspace, newest.id)
}

async function checked(
  args: Args,
  store: SessionStore | undefined,
  workspace: string,
  id: string,
): Promise<ChosenSession> {
  const session = store === undefined ? undefined : (await load(store, id))?.session
  if (session === undefined) return { id, isNew: true }
  const { workspaceRoot, options, mode = options?.['mode'] } = session
  if (workspaceRoot !== undefined && workspaceRoot !== workspace && !args.has('directory'))
    throw new UsageError(
      `The session ${JSON.stringify(id)} belongs to ${workspaceRoot}.`,
      `Add -C ${JSON.stringify(workspaceRoot)}, or -C . to resume it here.`,
    )
  const policy = options?.['permissionPolicy']
  const allowed = isRecord(policy) && Array.isArray(policy['allow']) ? policy['allow'].map(String) : []
  const isPolicyGiven = ['allow', 'deny', 'ask'].some((flag) => args.has(flag))
  const carried = [
    ...(typeof mode === 'string' && !args.has('mode') ? [`mode ${mode}`] : []),
    ...(allowed.length > 0 && !isPolicyGiven ? [`allowed: ${allowed.join(', ')}`] : []),
  ]
  return { id, note: carried.length > 0 ? `resuming ${id} with ${carried.join('; ')}` : undefined }
}
