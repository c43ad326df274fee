// Judging calls by many rules, and reading commands.
import { analyzeCommand, createRuleBook, judge } from 'capstan/authority'
import { growthExponent, interleave, keep } from '../measure.mjs'
import { timingArea } from '../report.mjs'

const scope = { variables: { workspace: ['/ship'] }, home: '/home/someone' }
/** @typedef {import('capstan/authority').Rule} Rule */

/** @param {number} count @returns {Rule[]} */
const rules = (count) =>
  Array.from({ length: count }, (_, i) => {
    const permission = ['bash', 'read', 'write', 'fs.write', 'net.fetch'][i % 5] ?? 'bash'
    const pattern =
      permission === 'bash'
        ? `tool${i} run task${i}*`
        : permission === 'net.fetch'
          ? `host${i}.example.com`
          : `dir${i}/**/*.ts`
    const action = /** @type {const} */ (['allow', 'deny', 'ask'])[i % 3] ?? 'ask'
    return { permission, pattern, action, source: 'project' }
  })

const calls = [
  { tool: 'read', subjects: [{ fs: /** @type {const} */ ('read'), path: 'dir501/a/b.ts' }] },
  { tool: 'write', subjects: [{ fs: /** @type {const} */ ('write'), path: 'src/index.ts' }] },
]
const command =
  "cd packages/core && npm run build -- --watch=false | tee build.log && git diff --stat 'HEAD~1' -- src"

/** @param {number} seconds */
export async function measureRules(seconds) {
  const sizes = [10, 100, 1000, 10_000]
  const books = sizes.map((size) => createRuleBook({ rules: rules(size), scope }))
  const judging = await interleave(
    books.map((book, at) => ({
      name: `judge one call by ${sizes[at]?.toLocaleString('en-US')} rules`,
      run: (/** @type {number} */ times) => {
        for (let i = 0; i < times; i++)
          keep(judge(calls[i % calls.length] ?? { tool: 'x', subjects: [] }, book))
      },
    })),
    { seconds: seconds * 0.6 },
  )
  const analysing = await interleave(
    [
      {
        name: 'split at spaces',
        run: (/** @type {number} */ times) => {
          for (let i = 0; i < times; i++) keep(command.split(' '))
        },
      },
      {
        name: 'analyzeCommand, a list with a pipe and a redirection',
        run: (/** @type {number} */ times) => {
          for (let i = 0; i < times; i++) keep(analyzeCommand(command))
        },
      },
      {
        name: 'analyzeCommand, git status',
        run: (/** @type {number} */ times) => {
          for (let i = 0; i < times; i++) keep(analyzeCommand('git status'))
        },
      },
    ],
    { seconds: seconds * 0.4 },
  )
  const exponent = growthExponent(
    judging.map(({ micros }, at) => ({ size: sizes[at] ?? 1, value: micros.median })),
  )
  console.log(`judging grows with the number of rules to the power ${exponent.toFixed(2)}`)
  return {
    areas: [
      timingArea('Rules', 'One call with one path; ratio to ten rules.', judging),
      timingArea(
        'Commands',
        'From text to units, paths, hosts and doubts; ratio to splitting the text.',
        analysing,
      ),
    ],
    judging: judging[2]?.micros.median ?? Number.NaN,
    analysing: analysing[1]?.micros.median ?? Number.NaN,
  }
}
