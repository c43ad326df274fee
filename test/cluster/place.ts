import { expect } from 'vitest'
import { openPlace } from '../cli/drive.js'
import { clientEnv, cluster, minutes } from './support.js'

/** A cluster, and its commands in this process. */
export async function place(options?: Parameters<typeof cluster>[0]) {
  const own = await cluster(options)
  const { root, env, run: runIn } = await openPlace()
  const run = (words: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    runIn([...words, '--schema', own.schema], { env: { ...env, ...clientEnv(own.url), ...more } })
  return {
    ...own,
    root,
    env,
    run,
    /** Submits and returns the ids that the command prints. */
    async submit(...words: readonly string[]): Promise<{ runId: string; sessionId: string }> {
      const { code, stdout, stderr } = await run(['runs', 'submit', ...words, '--json'])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      return JSON.parse(stdout)
    },
    isIn: (runId: string, state: string) =>
      expect.poll(async () => (await own.client.get(runId))?.state, { timeout: 5 * minutes }).toBe(state),
  }
}
