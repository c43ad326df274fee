// Commands with large outputs.
import { join } from 'node:path'
import { Agent } from 'capstan'
import { measureCurve } from './curve.mjs'

/** @param {import('./curve.mjs').ScalePlace} where */
export async function measureOutputs({ root, place, quick }) {
  const agent = await Agent.create({}, { userDir: join(place, 'user') })
  const session = agent.session(root, { sandbox: 'off' })
  const curve = await measureCurve({
    title: 'A command with a large output',
    explanation: 'MB that the command writes. The model gets the first part and a path.',
    sizes: quick ? [1, 10, 100] : [1, 10, 100, 1_000],
    most: 1.1,
    times: 2,
    prepare: async (size) => `yes 'a line of some output, over and over again' | head -c ${size}000000`,
    run: (command) => session.tool('bash', { command }),
  })
  await agent.close()
  return [curve]
}
