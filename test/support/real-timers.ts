// A set-up file of every test file: files share a process, and fake timers that one of them left would let the timers of
// the next one never fire. A spy on a fake timer does that: vitest restores spies once more when their file has ended.
import timers from 'node:timers'

for (const name of ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate'] as const) {
  if (globalThis[name] !== timers[name]) {
    throw new Error(`an earlier test file of this worker left a replaced ${name} in the global object`)
  }
}
