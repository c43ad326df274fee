// `grep` and `glob` against ripgrep itself, in turn on the same tree.
import { spawn } from 'node:child_process'
import { rgPath } from '@vscode/ripgrep'
import { globTool, grepTool } from 'capstan/toolbox'
import { interleave } from '../measure.mjs'
import { timingArea } from '../report.mjs'

/** @typedef {import('capstan/tool').ToolRuntime} ToolRuntime */

/**
 * @param {string} root
 * @param {ToolRuntime} runtime
 * @param {number} seconds for each pair
 */
export async function measureSearch(root, runtime, seconds) {
  const pairs = [
    {
      name: 'grep, 100 matches',
      raw: ['--line-number', '--regexp=needle', './'],
      tool: () => call(grepTool, { pattern: 'needle' }, runtime),
    },
    {
      name: 'grep, a match in every file',
      raw: ['--line-number', '--regexp=common', './'],
      tool: () => call(grepTool, { pattern: 'common' }, runtime),
    },
    {
      name: 'grep, files with matches',
      raw: ['--files-with-matches', '--regexp=needle', './'],
      tool: () => call(grepTool, { pattern: 'needle', output_mode: 'files_with_matches' }, runtime),
    },
    {
      name: 'glob, a hundredth of the files',
      raw: ['--files', '--glob=*00.ts', './'],
      tool: () => call(globTool, { pattern: '*00.ts' }, runtime),
    },
    {
      name: 'glob, every file',
      raw: ['--files', './'],
      tool: () => call(globTool, { pattern: '**' }, runtime),
    },
  ]
  const areas = []
  const targets = []
  for (const { name, raw, tool } of pairs) {
    const timings = await interleave(
      [
        { name: 'rg', times: 1, run: () => ripgrep(root, ['--no-config', '--hidden', ...raw]) },
        { name: 'the tool', times: 1, run: tool },
      ],
      { seconds },
    )
    areas.push(
      timingArea(name, 'On 50,000 files; ratio to ripgrep, its output read and thrown away.', timings),
    )
    // The fastest tenth: other work on the machine makes both slower, but not equally.
    const [theirs, ours] = timings.map(({ micros }) => micros.p10 / 1000)
    const most = 1.2 * (theirs ?? Number.NaN) + 10
    targets.push({ name: `${name}: 1.2 times rg and 10 ms`, unit: 'ms', most, found: ours ?? Number.NaN })
  }
  return { areas, targets }
}

/**
 * @param {import('capstan/tool').AnyGovernedTool} tool
 * @param {Record<string, unknown>} args
 * @param {ToolRuntime} runtime
 */
async function call(tool, args, runtime) {
  const envelope = await tool.execute(args, { runtime })
  if (envelope.type === 'error') throw new Error(envelope.error_text)
}

/** @param {string} cwd @param {readonly string[]} args */
function ripgrep(cwd, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(rgPath, args, { cwd, env: {}, stdio: ['ignore', 'pipe', 'ignore'] })
    child.stdout.resume()
    child.once('error', reject)
    child.once('close', resolve)
  })
}
