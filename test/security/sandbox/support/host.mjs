// A host in a process of its own: opens a shell with the given options, runs the given commands, and prints the
// results.
//   node host.mjs COMPILED_DIRECTORY JSON     one request
//   node host.mjs COMPILED_DIRECTORY          requests as lines of standard input
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const [directory = '', order] = process.argv.slice(2)
const { createLocalShell, doctor } = await import(pathToFileURL(join(directory, 'workspace/index.js')).href)

/**
 * A host that serves requests leaves its shell open: the next request with the same options uses it.
 * @type {{ key: string, shell: import('../../../../src/workspace/shell/local-shell.js').LocalShell } | undefined}
 */
let last

try {
  if (order !== undefined) await serve(JSON.parse(order))
  else {
    for await (const line of createInterface({ input: process.stdin })) {
      try {
        await serve(JSON.parse(line))
        print({ done: true })
      } catch (error) {
        print({ error: error instanceof Error && 'code' in error ? error.code : String(error), done: true })
      }
    }
  }
} finally {
  await last?.shell.close()
}

/** @param {import('./host.js').HostRequest} request */
async function serve({ shell: options, env = {}, runs = [], jobs = [], doctor: asked, linger = false }) {
  Object.assign(process.env, env)
  if (asked !== undefined) print({ doctor: await doctor(asked) })
  if (options === undefined) return
  const earlier = last
  const shell = shellWith(options)
  try {
    for (const command of jobs) await shell.start(command)
    const outcomes = runs.map((run) =>
      typeof run === 'string' ? shell.run(run) : shell.run(run.command, run),
    )
    print({ started: true })
    for (const outcome of outcomes) print({ outcome: await outcome })
  } finally {
    // Not before the new one is open: a ledger that both use stays open.
    if (earlier !== last) await earlier?.shell.close()
  }
  if (linger) await new Promise((resolve) => setTimeout(resolve, 60_000))
}

/** @param {import('../../../../src/workspace/shell/local-shell.js').LocalShellOptions} options */
function shellWith(options) {
  const key = JSON.stringify(options)
  if (last?.key !== key) last = { key, shell: createLocalShell(options) }
  return last.shell
}

/** @param {unknown} value */
function print(value) {
  writeSync(1, `${JSON.stringify(value)}\n`)
}
