import { lstat, readFile } from 'node:fs/promises'

/**
 * The Unix sockets that programs of the host listen on , by name. Read before each command, since
 * they come and go; one that appears while a command runs is not covered, which is why the usual places are hidden whole.
 */
export async function listeningSockets(): Promise<string[]> {
  const table = await readFile('/proc/net/unix', 'utf8').catch(() => '')
  const paths = new Set<string>()
  for (const line of table.split('\n')) {
    // Num RefCount Protocol Flags Type St Inode Path; an abstract name begins with @ and stays behind in the network namespace.
    const path = /^\S+(?: +\S+){6} (\/.*)$/.exec(line)?.[1]
    if (path !== undefined) paths.add(path)
  }
  const checked = await Promise.all(
    Array.from(paths, async (path) => ({ path, stat: await lstat(path).catch(() => undefined) })),
  )
  // The name may be one of another container, or of a socket that was removed.
  return checked.flatMap(({ path, stat }) => (stat?.isSocket() === true ? [path] : []))
}
