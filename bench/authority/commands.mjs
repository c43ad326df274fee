// Measures the cost of starting a command: bare, in the workspace's shell, and confined.
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { detectSandbox, openWorkspace } from 'capstan/workspace'
import { interleave } from '../measure.mjs'
import { timingArea } from '../report.mjs'

/** @param {string} place @param {number} rounds */
export async function measureCommands(place, rounds) {
  const root = join(place, 'work')
  mkdirSync(root)
  const open = (/** @type {import('capstan/workspace').SandboxMode} */ sandbox) =>
    openWorkspace({ root, sandbox, scratchDir: place, ledgerDir: join(place, 'ledger') })
  const bare = open('off')
  const found = await detectSandbox({ backend: 'bubblewrap' })
  const confined = found.kind === 'bubblewrap' ? open('required') : undefined
  if (confined === undefined) console.log('No sandbox on this machine: its cost is not measured.')
  const run = async (/** @type {import('capstan/workspace').Workspace} */ workspace) => {
    const { exitCode } = await workspace.shell.run('true')
    if (exitCode !== 0) throw new Error('true failed')
  }
  try {
    // About 30 ms a round for all three.
    const timings = await interleave(
      [
        { name: 'spawn bash -c true', times: 1, run: plainSpawn },
        { name: 'shell.run, no sandbox', times: 1, run: () => run(bare) },
        ...(confined === undefined
          ? []
          : [{ name: 'shell.run, bubblewrap', times: 1, run: () => run(confined) }]),
      ],
      { seconds: rounds * 0.06 },
    )
    return {
      areas: [
        timingArea('Starting a command', 'The command is `true`; ratio to a bare spawn.', timings, 'command'),
      ],
    }
  } finally {
    await bare.close()
    await confined?.close()
  }
}

function plainSpawn() {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/bash', ['--noprofile', '--norc', '-c', 'true'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.once('error', reject)
    child.once('close', resolve)
  })
}
