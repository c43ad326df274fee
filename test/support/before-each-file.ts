// The set-up file of every test file. It is one file, because each worker imports it again for each of its test files.
import timers from 'node:timers'
// Only the first test file of a worker opens the ledger.
import './worker-ledger.js'

// Files share a process, and the timers of a file never fire when an earlier one left fake timers. A spy on a fake
// timer does that: vitest restores spies once more when their file has ended.
for (const name of ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate'] as const) {
  if (globalThis[name] !== timers[name]) {
    throw new Error(`an earlier test file of this worker left a replaced ${name} in the global object`)
  }
}
