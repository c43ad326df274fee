// Imported by each test worker before anything else (vitest.config.ts): Node imports the sources of `src/` and `test/`
// themselves, with their types removed. It takes two thirds of the processor time of vitest's own module runner.
import nodeModule from 'node:module'
import { isMainThread } from 'node:worker_threads'

/** @type {{ registerHooks?: (hooks: object) => void, register: typeof nodeModule.register }} the types are those of Node 20 */
const { registerHooks, register } = nodeModule
const hooks = `./typescript-hooks.mjs${new URL(import.meta.url).search}`
// Threads that the sources start import no TypeScript, and the hooks would take longer than the rest of their start.
if (isMainThread && registerHooks !== undefined) registerHooks(await import(hooks))
else if (isMainThread) {
  // Node 20 runs the hooks in a separate thread.
  register(hooks, import.meta.url)
  // On Node 20 vitest has hooks that report each import to its main process. A worker that ends before such a report is
  // confirmed fails with an unhandled rejection, so they are left out.
  Object.assign(nodeModule, {
    /** @param {Parameters<typeof register>} args */
    register: (...args) => {
      if (args[0] !== '#nodejs-worker-loader') register(...args)
    },
  })
}
