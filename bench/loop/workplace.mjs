// The environment of the runs: a directory with files to read, and an agent that uses the model with canned answers.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent } from 'capstan'
import { fileFor, startModelServer } from './model-server.mjs'

/**
 * @typedef {{
 *   root: string
 *   place: string
 *   server: import('./model-server.mjs').ModelServer
 *   agentFor: (plan: string, options?: Parameters<typeof Agent.create>[1]) => Promise<Agent>
 *   leave: () => Promise<void>
 * }} Workplace
 */

/** @returns {Promise<Workplace>} */
export async function openWorkplace() {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-bench-')))
  const root = join(place, 'work')
  mkdirSync(join(root, 'src'), { recursive: true })
  for (let number = 0; number < 1_000; number++)
    writeFileSync(join(root, fileFor(number)), sourceText(number))
  const server = await startModelServer()
  /** @type {Agent[]} */
  const agents = []
  return {
    root,
    place,
    server,
    async agentFor(plan, options = {}) {
      const baseUrl = `${server.url}/${plan}/v1`
      const agent = await Agent.create(
        {
          defaultModel: 'bench/m',
          providers: { bench: { baseUrl, models: { m: { contextTokens: 100_000_000 } } } },
        },
        { ...options, userDir: join(place, 'user') },
      )
      agents.push(agent)
      return agent
    },
    async leave() {
      await Promise.all(agents.map((agent) => agent.close()))
      server.stop()
      rmSync(place, { recursive: true, force: true })
    },
  }
}

/** About a kilobyte. @param {number} number */
function sourceText(number) {
  return Array.from(
    { length: 24 },
    (_, line) => `export const value${line} = 'part ${number}, line ${line}'\n`,
  ).join('')
}
