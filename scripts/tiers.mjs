// Which test file belongs to which tier. The patterns are those of vitest.config.ts.

/** Tests that kill processes, exhaust resources, damage files, soak, race, fuzz, package, or run the documents. Everything else is unit (`src/`) or contract (`test/`). */
export const slow = [
  'src/program/bundled.test.ts',
  'src/program/machine/{escape,soak}.test.ts',
  'src/postgres/*.test.ts',
  'src/store/*/{damage,disk-full,faults,lease,power-cut}.test.ts',
  'src/store/postgres/*.test.ts',
  'src/toolbox/patch-against-git.test.ts',
  'src/workspace/sandbox/guard/guard.test.ts',
  'src/workspace/search/differential.test.ts',
  'test/docs/**/*.test.ts',
  'test/faults/**/*.test.ts',
  'test/house/**/*.test.ts',
  'test/mcp/orphans.test.ts',
  'test/mcp/faults.test.ts',
  'test/persistence/{kill,subagents-kill,worktree-kill,soak,cut,store-failures,store-operations,two-processes}.test.ts',
  'test/postgres/**/*.test.ts',
  'test/queue/{kill,restart,workers}.test.ts',
  'test/security/**/{race,search-race,fuzz,orphans,abort,random-trees}.test.ts',
  'test/supervise/faults.test.ts',
  'test/toolbox/big-tree.test.ts',
  'test/agent-dir/two-nodes.test.ts',
  'test/server/{kill,streams}.test.ts',
  'test/cluster/{commands,guide,processes,kill,database,network,pooler,schedules}.test.ts',
  'test/python/wheel.test.ts',
  'test/inspector/**/*.test.ts',
]

/** Tests with packages of users, which are installed apart (test/ecosystem/packages). */
export const ecosystem = 'test/ecosystem/**/*.test.ts'

/** Those of them that import another version of packages that the repository has too. */
export const nextAiSdk = 'test/ecosystem/ai-sdk-packages.test.ts'

/** Small files whose tests take long. They start first in their tier; otherwise one worker would still run them after the others have ended. */
export const long = [
  'src/testing/workspace-backend-kit.test.ts',
  'src/workspace/shell/run-trace.test.ts',
  'src/store/memory-store.test.ts',
]

/**
 * Files that wait most of their time: for leases, time limits, restarts, reconnections, keys that are typed slowly. They
 * are spread over their tier; several at the same time would leave the cores idle.
 */
export const waiting = [
  'test/cli/interactive/{approvals,interactive}.test.ts',
  'test/cluster/{commands,database,network,processes,runs,triggers}.test.ts',
  'test/faults/{tool-abort,tool-misbehaviour}.test.ts',
  'test/inspector/accessible.test.ts',
  'test/mcp/{faults,orphans}.test.ts',
  'test/agent-dir/two-nodes.test.ts',
  'test/postgres/faults.test.ts',
  'test/server/{queue,security}.test.ts',
  'test/supervise/faults.test.ts',
]

/**
 * The files of a tier in the given order, with those that wait at equal distances from each other. The sizes of the
 * other files stand for the time that they take.
 * @template File
 * @param {readonly File[]} files @param {(file: File) => string} pathOf from the root of the repository @param {(file: File) => number} sizeOf
 */
export function spreadWaiting(files, pathOf, sizeOf) {
  const isWaiting = (/** @type {File} */ file) => waiting.some((pattern) => matches(pattern, pathOf(file)))
  let total = 0
  const others = files
    .filter((file) => !isWaiting(file))
    .map((file) => {
      const at = total
      total += sizeOf(file)
      return { file, at }
    })
  const spread = files.filter(isWaiting).map((file, n, all) => ({ file, at: (total * n) / all.length }))
  return [...spread, ...others].toSorted((a, b) => a.at - b.at).map(({ file }) => file)
}

/** In the order in which they run. The small files of `unit` come last, so that no worker waits long for another. */
export const tiers = ['ecosystem', 'contract', 'slow', 'unit']

/** @param {string} file from the root of the repository, with forward slashes @param {string} project the vitest project that runs it */
export function tierOf(file, project) {
  if (project !== 'together') return project
  if (matches(ecosystem, file)) return 'ecosystem'
  if (slow.some((pattern) => matches(pattern, file))) return 'slow'
  return file.startsWith('src/') ? 'unit' : 'contract'
}

/** @param {string} pattern @param {string} file from the root of the repository, with forward slashes */
export function matches(pattern, file) {
  return expressionOf(pattern).test(file)
}

/** @type {Map<string, RegExp>} */
const expressions = new Map()

/** For `*`, `**`, and `{a,b}`, which is all that the patterns use. @param {string} pattern */
function expressionOf(pattern) {
  const known = expressions.get(pattern)
  if (known !== undefined) return known
  const source = pattern.replace(/\*\*\/|[*{},.]/g, (part) => {
    if (part === '**/') return '(?:.*/)?'
    if (part === '*') return '[^/]*'
    if (part === '{') return '(?:'
    if (part === '}') return ')'
    return part === ',' ? '|' : '\\.'
  })
  const expression = new RegExp(`^${source}$`)
  expressions.set(pattern, expression)
  return expression
}
