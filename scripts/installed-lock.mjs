// Compares what npm has installed with a lock file.

/** @typedef {{ version?: string, integrity?: string, optional?: boolean, os?: string[], cpu?: string[], libc?: string[] }} Locked */
/** @typedef {{ packages: Record<string, Locked> }} LockFile */

/**
 * Returns whether every package of a lock file is installed, except those for other platforms.
 * @param {LockFile} lock @param {LockFile} installed `node_modules/.package-lock.json`, in which npm records what it has installed
 */
export function isInstalled(lock, installed) {
  return Object.entries(lock.packages).every(([path, wanted]) => {
    const found = installed.packages[path]
    if (path === '') return true
    if (found === undefined) return wanted.optional === true && isForOthers(wanted)
    return found.version === wanted.version && found.integrity === wanted.integrity
  })
}

/** @param {Locked} wanted */
function isForOthers({ os, cpu, libc }) {
  return (
    os?.includes(process.platform) === false || cpu?.includes(process.arch) === false || libc !== undefined
  )
}
