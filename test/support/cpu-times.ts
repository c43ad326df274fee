// A set-up file of `npm run test:times` (scripts/test-times.mjs): writes a line with the processor time of each test
// file. Processes that outlive their parent are not counted.
import { appendFileSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { afterAll, expect } from 'vitest'

const before = processorTimes()
const started = performance.now()
const file = relative('.', expect.getState().testPath ?? '')

afterAll(() => {
  const after = processorTimes()
  const line = {
    file,
    own: after.own - before.own,
    children: after.children - before.children,
    wall: (performance.now() - started) / 1000,
  }
  appendFileSync(process.env['TEST_TIMES'] ?? '', `${JSON.stringify(line)}\n`)
})

/** In seconds: of this process, and of the processes that it started and that have ended. */
function processorTimes(): { own: number; children: number } {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // The name of the program comes first, in parentheses, and may contain spaces.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = fields.slice(11, 15)
  return { own: (user + system) / 100, children: (childrenUser + childrenSystem) / 100 }
}
