// A set-up file of every test file. Files share a process, and the timers of a file never fire when an earlier one left
// fake timers. A spy on a fake timer does that: vitest restores spies once more when their file has ended.
import timers from 'node:timers'

for (const name of ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate'] as const) {
  if (globalThis[name] !== timers[name]) {
    throw new Error(`an earlier test file of this worker left a replaced ${name} in the global object`)
  }
}
