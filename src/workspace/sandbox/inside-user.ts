import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { insideHome } from './bubblewrap.js'

/** The user of a command inside a sandbox. On the host its files belong to the user of the host in any case. */
export type InsideUser = {
  readonly uid: number
  readonly gid: number
  /** Files that replace others inside, so that the user has a name: some programs fail for a user without one. */
  readonly accounts: readonly { readonly file: string; readonly shownAt: string }[]
}

const unprivileged = 1000

/**
 * Returns the host's own user, or for root an unprivileged one: programs assume that user 0 can do everything, which no
 * user can inside. The account files are written to `directory`.
 */
export function insideUser(directory: string): InsideUser {
  const uid = process.getuid?.() ?? unprivileged
  const gid = process.getgid?.() ?? unprivileged
  if (uid !== 0) return { uid, gid, accounts: [] }
  const accounts = [
    account(directory, '/etc/passwd', `capstan:x:${unprivileged}:${unprivileged}::${insideHome}:/bin/sh`),
    account(directory, '/etc/group', `capstan:x:${unprivileged}:`),
  ]
  return { uid: unprivileged, gid: unprivileged, accounts: accounts.flatMap((one) => one ?? []) }
}

function account(
  directory: string,
  path: string,
  line: string,
): { file: string; shownAt: string } | undefined {
  try {
    const shownAt = realpathSync(path)
    const others = readFileSync(shownAt, 'utf8')
      .split('\n')
      .filter((each) => each !== '' && each.split(':')[2] !== String(unprivileged))
    const file = join(directory, path.slice(path.lastIndexOf('/') + 1))
    writeFileSync(file, `${[...others, line].join('\n')}\n`, { mode: 0o644 })
    return { file, shownAt }
  } catch {
    // A system without this file has no names to show.
    return undefined
  }
}
