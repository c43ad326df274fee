// Sessions with many rules: opening one, and a call that is judged by them.
import { join } from 'node:path'
import { Agent } from 'capstan'
import { measureCurve } from './curve.mjs'

/** @param {import('./curve.mjs').ScalePlace} where */
export async function measureRuleCounts({ url, root, place, quick }) {
  const agent = await Agent.create(
    {
      defaultModel: 'bench/m',
      providers: { bench: { baseUrl: `${url}/rounds-3/v1`, models: { m: {} } } },
    },
    { userDir: join(place, 'user') },
  )
  const policyOf = (/** @type {number} */ size) => ({
    deny: Array.from({ length: size >> 1 }, (_, at) => `write(dir${at}/**/*.ts)`),
    allow: ['read(*)', ...Array.from({ length: size >> 1 }, (_, at) => `bash(tool${at} run task${at}*)`)],
  })
  const curve = await measureCurve({
    title: 'A run of three calls under many rules',
    explanation: 'Rules of the session. The session is opened, makes three calls and is closed.',
    sizes: quick ? [10, 100] : [10, 100, 1_000],
    most: 0.3,
    times: 15,
    prepare: async (size) => policyOf(size),
    run: async (permissionPolicy) => {
      const session = agent.session(root, { permissionPolicy })
      const { toolCallsCount } = await session.send('Read the files.')
      if (toolCallsCount !== 3) throw new Error(`${toolCallsCount} calls`)
      await session.close()
    },
  })
  await agent.close()
  return [curve]
}
