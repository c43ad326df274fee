// `npm run bench -- sandbox`: what the start of a command costs in each sandbox, against none. As root the same is done
// once more as an ordinary user, in a separate process. About a minute; with `--quick` a rough result.
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { detectSandbox, openWorkspace } from 'capstan/workspace'
import { interleave } from '../measure.mjs'
import { timingArea, writeResults } from '../report.mjs'

/** @typedef {import('../measure.mjs').Timing} Timing */

const quick = process.argv.includes('--quick')
const asChild = process.argv.includes('--timings')
const unprivileged = 65_534
const seconds = quick ? 6 : 30

const explanation =
  'One command, `true`, through the shell of a workspace: what it waits for before and after is part of it. Ratios to the same command without a sandbox, taken in turn.'

/** Times the sandboxes that work for this user. @returns {Promise<Timing[]>} */
async function timings() {
  const place = mkdtempSync(join(tmpdir(), 'capstan-bench-sandbox-'))
  const root = join(place, 'work')
  mkdirSync(root)
  writeFileSync(join(root, 'file.txt'), 'text\n')
  const names = /** @type {const} */ (['bubblewrap', 'landlock', 'seatbelt'])
  const found = await Promise.all(names.map((backend) => detectSandbox({ backend })))
  const working = names.filter((_, at) => found[at]?.kind !== 'none')
  const workspaces = /** @type {const} */ (['off', ...working]).map((sandbox) => ({
    sandbox,
    workspace: openWorkspace({
      root,
      sandbox,
      ledgerDir: join(place, 'ledger'),
      scratchDir: join(place, 'scratch'),
      onNotice: () => undefined,
    }),
  }))
  const run = promisify(execFile)
  try {
    const shells = workspaces.map(({ sandbox, workspace }) => ({
      name: sandbox === 'off' ? 'none' : sandbox,
      times: 1,
      run: async () => {
        const { exitCode } = await workspace.shell.run('true')
        if (exitCode !== 0) throw new Error(`the command ended with ${exitCode} in ${sandbox}`)
      },
    }))
    const bare = {
      name: 'bash alone, by execFile',
      times: 1,
      run: () => run('/bin/bash', ['--noprofile', '--norc', '-c', 'true']),
    }
    return await interleave([...shells, bare], { seconds })
  } finally {
    for (const { workspace } of workspaces) await workspace.close()
    rmSync(place, { recursive: true, force: true })
  }
}

/** The same by a process of an ordinary user. @returns {Timing[]} */
function timingsAsOrdinary() {
  const home = mkdtempSync(join(tmpdir(), 'capstan-bench-user-'))
  try {
    chmodSync(home, 0o755)
    const own = join(home, 'tmp')
    mkdirSync(own)
    chownSync(own, unprivileged, unprivileged)
    const words = [`--reuid=${unprivileged}`, `--regid=${unprivileged}`, '--clear-groups', '--']
    const flags = quick ? ['--timings', '--quick'] : ['--timings']
    const { stdout, stderr } = spawnSync(
      'setpriv',
      [...words, process.execPath, import.meta.filename, ...flags],
      {
        encoding: 'utf8',
        env: { PATH: process.env['PATH'] ?? '', HOME: join(home, 'home'), TMPDIR: own },
      },
    )
    const line = stdout.split('\n').find((each) => each.startsWith('['))
    if (line === undefined) {
      console.log(`NOT MEASURED as an ordinary user: ${stderr.trim().split('\n').at(-1) ?? 'no answer'}`)
      return []
    }
    return JSON.parse(line)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

if (asChild) console.log(JSON.stringify(await timings()))
else {
  const isRoot = process.getuid?.() === 0
  const areas = [
    timingArea(`Start of a command${isRoot ? ', as root' : ''}`, explanation, await timings(), 'command'),
  ]
  const ordinary = isRoot ? timingsAsOrdinary() : []
  if (ordinary.length > 0)
    areas.push(timingArea('Start of a command, as an ordinary user', explanation, ordinary, 'command'))
  console.log(`wrote ${writeResults('sandbox', { quick, targets: [], areas })}`)
}
