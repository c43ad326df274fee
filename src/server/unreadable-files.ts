import { resolve } from 'node:path'
import { unreadableFiles } from '../loop/call-permit.js'
import type { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'

/**
 * Returns a check for files that rules deny to the agent. A client must not read every file of the workspace, so no
 * diff may contain the text of such a file.
 */
export async function unreadableFor(session: Session): Promise<(path: string) => Promise<boolean>> {
  const { authority, workspace } = await kernelOf(session).engine.open()
  const unreadable = unreadableFiles(authority.agent())
  return async (path) => {
    if (unreadable === undefined) return false
    return unreadable.denies((await workspace.realPath(path)) ?? resolve(workspace.root, path))
  }
}
