// A program in Node's own vm, which keeps nothing out, and in Capstan's machine.
import { runInNewContext } from 'node:vm'
import { createProgramMachine } from 'capstan/program'

/**
 * The program for every engine, with the name of the tool as it calls it. The value says whether all calls came back.
 * @param {string} echo
 */
export function bodiesFor(echo) {
  return {
    fresh: () => 'return 0',
    calls: (/** @type {number} */ count) =>
      `let sum = 0; for (let at = 0; at < ${count}; at++) sum += (await ${echo}({ at })).at; return sum`,
    together: (/** @type {number} */ count) =>
      `let sum = 0; for (const one of await Promise.all(Array.from({ length: ${count} }, (_, at) => ${echo}({ at })))) sum += one.at; return sum`,
  }
}

/**
 * @param {string} echo
 * @param {(body: string, calls: number) => Promise<unknown>} run runs a body and gives its value
 * @returns {import('../peers/sides.mjs').OpenSide}
 */
export function programSide(echo, run) {
  const bodies = bodiesFor(echo)
  return {
    async run({ what, size, times }) {
      const body = bodies[/** @type {keyof typeof bodies} */ (what)](size)
      const expected = what === 'fresh' ? 0 : (size * (size - 1)) / 2
      for (let at = 0; at < times; at++) {
        const value = await run(body, what === 'fresh' ? 0 : size)
        if (value !== expected) throw new Error(`the program gave ${JSON.stringify(value)?.slice(0, 200)}`)
      }
    },
  }
}

/** @type {Record<string, import('../peers/sides.mjs').Side>} */
export const sides = {
  fetch: {
    title: 'node:vm, which keeps nothing out',
    open: async () =>
      programSide('echo', (body) =>
        runInNewContext(`(async () => { ${body} })()`, { echo: async (/** @type {unknown} */ args) => args }),
      ),
  },
  capstan: {
    title: 'capstan: a fresh sandbox off the main thread',
    async open() {
      const machine = createProgramMachine()
      const host = {
        call: async (/** @type {{ args: unknown }} */ { args }) => ({
          type: /** @type {const} */ ('output'),
          data: args,
          metadata: { duration_ms: 0 },
        }),
      }
      const side = programSide('echo', async (body, calls) => {
        const source = `export default async (ctx) => {
          const echo = async (args) => JSON.parse((await ctx.tool('echo', args)).output)
          ${body}
        }`
        const limits = { maxToolCalls: Math.max(1, calls) }
        const outcome = await machine.run({
          source,
          language: 'javascript',
          inputs: {},
          host,
          limits,
          startedAt: 0,
        })
        return outcome.ok ? outcome.result : outcome
      })
      return { ...side, close: () => machine.close() }
    },
  },
}
