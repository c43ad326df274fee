// Temporary files of tests in memory. They create and remove so many that some disks take a sixth of the processor time
// of a run: ext4 without a journal looks for an inode that was not freed in the last half minute.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

/** The type that `statfs` reports for an in-memory file system. */
const tmpfs = 0x01021994
const enoughBytes = 8 * 2 ** 30
const mount = 'mount -t tmpfs -o mode=1777 tmpfs "$TMPDIR" && exec "$@"'

/**
 * Runs `use` with the words that begin a command, and with its environment, so that `TMPDIR` is a directory in memory
 * that only the command and its children see. Without any words where the directory for temporary files is in memory
 * already, or where the user may not mount one.
 * @template T
 * @param {(words: readonly string[], env: NodeJS.ProcessEnv) => T | Promise<T>} use
 */
export async function withMemoryDirectory(use) {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return use([], process.env)
  if (statfsSync(tmpdir()).type === tmpfs || freemem() < enoughBytes) return use([], process.env)
  const directory = mkdtempSync(join(tmpdir(), 't-'))
  const words = ['unshare', '--mount', 'sh', '-c', mount, 'sh']
  const env = { ...process.env, TMPDIR: directory }
  try {
    const { status } = spawnSync('unshare', [...words.slice(1), 'true'], { env, stdio: 'ignore' })
    return await (status === 0 ? use(words, env) : use([], process.env))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
