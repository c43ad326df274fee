// A workspace in a container: files and commands go through one process inside it (`agent.mjs`). `start` is the only
// part that depends on the kind of container: with Docker, ['docker', 'exec', '-i', ID, 'node', '/agent.mjs'].
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/**
 * @param {{ start: readonly [string, ...string[]], root: string, sandbox?: string }} options `start`: the words that
 * start the agent inside; `root`: the workspace as the container sees it; `sandbox`: what confines commands.
 * @returns {import('capstan/workspace').WorkspaceBackend}
 */
export function createContainerBackend({ start, root, sandbox = 'container' }) {
  /** @type {{ agent: Agent, users: number } | undefined} */
  let shared
  return {
    kind: 'container',
    root,
    // Sessions of subagents use the same agent; the last one ends it.
    async open() {
      shared ??= { agent: startAgent(start), users: 0 }
      const own = shared
      own.users += 1
      const { agent } = own
      return {
        root,
        id: `container-${agent.pid}`,
        fileSystem: fileSystemOf(agent),
        commands: { sandbox, start: (command) => agent.start(command) },
        async close() {
          own.users -= 1
          if (own.users > 0) return
          if (shared === own) shared = undefined
          await agent.close()
        },
      }
    },
  }
}

/** @param {Agent} agent @returns {import('capstan/workspace').WorkspaceFileSystem} */
function fileSystemOf(agent) {
  return {
    lstat: async (path) => (await agent.ask('lstat', { path })) ?? undefined,
    readLink: (path) => agent.ask('readLink', { path }),
    list: async (path, limit) => checkedNames(await agent.ask('list', { path, limit })),
    read: async (path, from, end) =>
      Buffer.from(await agent.ask('read', { path, start: from, end }), 'base64'),
    write: (path, bytes, mode) =>
      agent.ask('write', { path, bytes: Buffer.from(bytes).toString('base64'), mode }),
    makeDirectory: (path) => agent.ask('makeDirectory', { path }),
    remove: (path) => agent.ask('remove', { path }),
    move: (from, to) => agent.ask('move', { from, to }),
  }
}

/** @param {string} line @returns {any} */
function read(line) {
  try {
    const answer = JSON.parse(line)
    return answer !== null && typeof answer === 'object' ? answer : undefined
  } catch {
    return undefined
  }
}

/** A name with a slash would be a path that no rule has judged. @param {any} entries */
function checkedNames(entries) {
  const isName = (/** @type {any} */ { name }) => typeof name === 'string' && /^[^/\0]+$/.test(name)
  if (Array.isArray(entries) && entries.every(isName)) return entries
  throw Object.assign(new Error('the container answered with names that are none'), { code: 'EPROTO' })
}

/** @typedef {ReturnType<typeof startAgent>} Agent */

/** @param {readonly [string, ...string[]]} words */
function startAgent([file, ...args]) {
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  /** @type {Map<number, { resolve(value: any): void, reject(error: Error): void }>} */
  const asked = new Map()
  /** @type {Map<number, { output(bytes: Buffer | undefined): void, exit(how: any): void, lost(error: Error): void }>} */
  const commands = new Map()
  let count = 0
  /** @type {Error | undefined} */
  let lost
  const gone = new Promise((resolve) => child.once('close', resolve))
  const onLost = (/** @type {Error} */ error) => {
    lost ??= error
    for (const { reject } of asked.values()) reject(lost)
    for (const command of commands.values()) command.lost(lost)
    asked.clear()
    commands.clear()
  }
  child.once('error', onLost)
  child.once('close', () => onLost(new Error('The agent in the container has ended.')))
  child.stdin.on('error', () => undefined)
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = read(line)
    // A command can have taken the agent over: its answers are data, and one that is none ends it.
    if (answer === undefined) return void child.kill('SIGKILL')
    const { id, value, failed, output, exit } = answer
    if (output !== undefined) commands.get(id)?.output(Buffer.from(output, 'base64'))
    else if (exit !== undefined) commands.get(id)?.exit(exit)
    else {
      const { code, message } = failed ?? {}
      if (failed === undefined) asked.get(id)?.resolve(value)
      else asked.get(id)?.reject(Object.assign(new Error(message), { code }))
      asked.delete(id)
    }
  })

  /** @param {string} op @param {object} fields @returns {Promise<any>} */
  function ask(op, fields, id = ++count) {
    if (lost !== undefined) return Promise.reject(lost)
    // Variables of a command are in this line, and so in no list of processes.
    child.stdin.write(`${JSON.stringify({ id, op, ...fields })}\n`)
    return new Promise((resolve, reject) => asked.set(id, { resolve, reject }))
  }

  return {
    pid: child.pid,
    ask,
    /**
     * @param {import('capstan/workspace').BackendCommand} command
     * @returns {Promise<import('capstan/workspace').BackendProcess>}
     */
    async start({ argv, cwd, env }) {
      const id = ++count
      const { readable, writable } = new TransformStream()
      const writer = writable.getWriter()
      const exit = new Promise((resolve, reject) => {
        commands.set(id, {
          output: (bytes) => void writer.write(bytes).catch(() => undefined),
          exit(how) {
            commands.delete(id)
            writer.close().catch(() => undefined)
            resolve(how)
          },
          lost(error) {
            writer.abort(error).catch(() => undefined)
            reject(error)
          },
        })
      })
      exit.catch(() => undefined)
      await ask('start', { argv, cwd, env }, id)
      return {
        output: readable,
        exit,
        async end() {
          await ask('end', { command: id })
          await exit
        },
      }
    },
    async close() {
      child.stdin.end()
      await gone
    },
  }
}
