// The work whose instructions are counted: so many runs of ten rounds each, without telemetry or with one of its kinds. Nothing in it
// depends on the clock.

import { join } from 'node:path'
import { Agent } from 'capstan'
import { hostOptions } from '../loop/host-options.mjs'
import { telemetryOf } from './tracers.mjs'

const [kind = 'off', url = '', root = '', place = '', runs = '1'] = process.argv.slice(2)
const agent = await Agent.create(
  {
    defaultModel: 'bench/m',
    providers: {
      bench: { baseUrl: `${url}/rounds-10/at-once/v1`, models: { m: { contextTokens: 100_000_000 } } },
    },
  },
  { userDir: join(place, 'user'), ...telemetryOf(kind) },
)
for (let run = 0; run < Number(runs); run++) {
  const session = agent.session(root, hostOptions)
  const { toolCallsCount } = await session.send('Read all of it.')
  if (toolCallsCount !== 10) throw new Error(`${toolCallsCount} files were read`)
  await session.close()
}
await agent.close()
process.exit()
