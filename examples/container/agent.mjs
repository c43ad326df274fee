// Runs inside a container and does there what `container-backend.mjs` asks for on its standard input, one JSON object in
// each line: file operations, and commands. Needs Node and nothing else; it ends when its input does.
import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import * as fs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

/** @typedef {{ id: number, op: string, [field: string]: any }} Request */

/** @param {object} answer */
const send = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`)
/** @type {Map<number, import('node:child_process').ChildProcess>} */
const running = new Map()
let count = 0

/** @type {Record<string, (request: Request) => unknown>} */
const operations = {
  async lstat({ path }) {
    const stat = await fs.lstat(path).catch((error) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
      throw error
    })
    if (stat === undefined) return null
    const { size, mtimeMs, mode, nlink, ctimeMs } = stat
    const hardLinks = stat.isFile() ? nlink : undefined
    return { kind: kindOf(stat), size, mtimeMs, mode: mode & 0o7777, hardLinks, changedAtMs: ctimeMs }
  },
  readLink: ({ path }) => fs.readlink(path),
  async list({ path, limit }) {
    const entries = []
    for await (const entry of await fs.opendir(path)) {
      const kind = kindOf(entry)
      const size =
        kind === 'file' ? (await fs.lstat(join(path, entry.name)).catch(() => undefined))?.size : undefined
      entries.push(size === undefined ? { name: entry.name, kind } : { name: entry.name, kind, size })
      if (entries.length > limit) break
    }
    return entries
  },
  async read({ path, start, end }) {
    // A link that was put in the place of the file is not followed, and a pipe does not hold the agent up.
    const file = await fs.open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const { size } = await file.stat()
      const bytes = Buffer.alloc(Math.max(0, Math.min(end, size) - start))
      const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
      return bytes.subarray(0, bytesRead).toString('base64')
    } finally {
      await file.close()
    }
  },
  async write({ path, bytes, mode }) {
    const temporary = join(dirname(path), `.agent-${process.pid}-${++count}`)
    const file = await fs.open(temporary, 'wx', mode)
    try {
      await file.writeFile(Buffer.from(bytes, 'base64'))
      await file.chmod(mode)
      await file.sync()
      await file.close()
      await fs.rename(temporary, path)
    } catch (error) {
      await file.close().catch(() => undefined)
      await fs.rm(temporary, { force: true })
      throw error
    }
  },
  makeDirectory: ({ path }) =>
    fs.mkdir(path).catch(async (error) => {
      if (error.code !== 'EEXIST' || !(await fs.lstat(path)).isDirectory()) throw error
    }),
  async remove({ path }) {
    if ((await fs.lstat(path)).isDirectory()) await fs.rmdir(path)
    else await fs.unlink(path)
  },
  async move({ from, to }) {
    if ((await fs.lstat(to).catch(() => undefined)) !== undefined)
      throw Object.assign(new Error('something is there'), { code: 'EEXIST' })
    await fs.rename(from, to)
  },
  start({ id, argv, cwd, env }) {
    const [file, ...args] = argv
    const child = spawn(file, args, {
      cwd,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.set(id, child)
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => send({ id, output: chunk.toString('base64') }))
    child.once('error', (error) => send({ id, exit: { exitCode: null }, error: error.message }))
    child.once('exit', () => endGroup(child))
    // After all output.
    child.once('close', (exitCode, signal) => {
      running.delete(id)
      send({ id, exit: signal === null ? { exitCode } : { exitCode: null, signal } })
    })
    return null
  },
  end({ command }) {
    const child = running.get(command)
    if (child !== undefined) endGroup(child)
    return null
  },
}

/** Processes that left the group end with the container. @param {import('node:child_process').ChildProcess} child */
function endGroup({ pid }) {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // They are gone already.
  }
}

/** @param {import('node:fs').Stats | import('node:fs').Dirent} entry */
function kindOf(entry) {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  return entry.isSymbolicLink() ? 'symlink' : 'other'
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line)
  const operation = Object.hasOwn(operations, request.op) ? operations[request.op] : undefined
  // Not awaited: a long read does not delay the others.
  Promise.resolve()
    .then(() => operation?.(request))
    .then((value) => send({ id: request.id, value: value ?? null }))
    .catch((error) => send({ id: request.id, failed: { code: error.code ?? 'EIO', message: error.message } }))
}
for (const child of running.values()) endGroup(child)
process.exit()
