/**
 * Goals over HTTP on loopback, through each way in (a program, a configuration, the command), judged by a command or
 * by a model, until they are met or a limit of rounds, time or cost is reached.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { Goal } from '../../src/feature/goal.js'
import type { GoalOutcome } from '../../src/loop/events.js'
import type { ModelServer, ServedStep } from '../../src/testing/index.js'
import { openPlace } from '../cli/drive.js'
import { bodyOf, calls, makeWorkspace, openServer, whenDone } from './open-session.js'

type Check = 'a command' | 'a judge'
type Limits = Pick<Goal, 'maxRounds' | 'maxTimeMs' | 'maxCostUsd'>
type Pursued = { readonly goal: GoalOutcome | undefined; readonly server: ModelServer }

const description = 'The file done.txt exists.'
const command = 'test -f done.txt'
const rules = ['bash(test *)', 'write(*)']
/** One dollar for each request of 1,000 tokens. */
const price = 'cost = { input = 1000, output = 1000 }'
const usage = { inputTokens: 1_000, outputTokens: 0 }

const provider = (server: ModelServer): string =>
  `default_model = "p/worker"\nproviders "p" {\n  base_url = "${server.url}/v1"\n  models "worker" { ${price} }\n  models "judge" { ${price} }\n}\n`

/** Each way to set the same goal, with the limits, and to run towards it. */
const waysIn = {
  async 'a program'(server: ModelServer, check: Check, limits: Limits): Promise<GoalOutcome | undefined> {
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create(provider(server), { userDir, env: {} })
    whenDone(() => agent.close())
    const session = agent.session(root, { sandbox: 'off', permissionPolicy: { allow: rules } })
    const judged = check === 'a judge' ? { judge: 'p/judge' } : [command]
    const result = await session.send({ prompt: 'Go.', goal: { description, check: judged, ...limits } })
    return result.goal
  },
  async 'a configuration'(
    server: ModelServer,
    check: Check,
    { maxRounds, maxTimeMs, maxCostUsd }: Limits,
  ): Promise<GoalOutcome | undefined> {
    const { root, userDir } = await makeWorkspace()
    const lines = [
      `description = "${description}"`,
      check === 'a judge' ? 'judge = "p/judge"' : `check = ["${command}"]`,
      maxRounds === undefined ? '' : `max_rounds = ${maxRounds}`,
      maxTimeMs === undefined ? '' : `max_time_ms = ${maxTimeMs}`,
      maxCostUsd === undefined ? '' : `max_cost_usd = ${maxCostUsd}`,
    ]
    const agent = await Agent.create(`${provider(server)}goal {\n${lines.join('\n')}\n}`, {
      userDir,
      env: {},
    })
    whenDone(() => agent.close())
    const session = agent.session(root, { sandbox: 'off', permissionPolicy: { allow: rules } })
    return (await session.send('Go.')).goal
  },
  async 'the command'(
    server: ModelServer,
    check: Check,
    { maxRounds, maxTimeMs, maxCostUsd }: Limits,
  ): Promise<GoalOutcome | undefined> {
    const place = await openPlace()
    const config = join(place.home, '..', 'goal.acl')
    await writeFile(config, provider(server))
    const { code, stdout } = await place.run([
      ...['run', '--no-stdin', '--output-format', 'json', '--config', config, '--sandbox', 'off', 'Go.'],
      ...rules.flatMap((rule) => ['--allow', rule]),
      ...['--goal', description, ...(check === 'a judge' ? [] : ['--check', command])],
      ...(maxRounds === undefined ? [] : ['--goal-rounds', String(maxRounds)]),
      ...(maxTimeMs === undefined ? [] : ['--goal-time', `${maxTimeMs}ms`]),
      ...(maxCostUsd === undefined ? [] : ['--goal-cost', `${maxCostUsd}usd`]),
    ])
    const { goal } = JSON.parse(stdout)
    expect(code).toBe(goal.met ? 0 : 3)
    return goal
  },
}

const write: ServedStep = { ...calls(['write', { file_path: 'done.txt', content: 'x' }]), usage }

/**
 * A model server for the worker and the judge. The worker follows its steps, then only says that it is done; the judge
 * says yes when the transcript has the result of a write.
 */
function startModels(steps: readonly ServedStep[], delayMs?: number): Promise<ModelServer> {
  const left = [...steps]
  return openServer(({ body }) => {
    const text = JSON.stringify(body)
    if (!text.includes('You judge whether an agent has reached a goal'))
      return left.shift() ?? { text: 'I am done.', usage, ...(delayMs !== undefined && { delayMs }) }
    const met = /RESULT/.test(text.slice(text.indexOf('The end of the transcript')))
    return { ...calls(['verdict', { met, reason: met ? 'It was written.' : 'Nothing was written.' }]), usage }
  })
}

async function pursue(
  way: keyof typeof waysIn,
  check: Check,
  steps: readonly ServedStep[],
  limits: Limits = {},
  delayMs?: number,
): Promise<Pursued> {
  const server = await startModels(steps, delayMs)
  return { goal: await waysIn[way](server, check, limits), server }
}

const checks = ['a command', 'a judge'] as const
const ways = Object.keys(waysIn) as (keyof typeof waysIn)[]

describe.each(ways.flatMap((way) => checks.map((check) => [way, check] as const)))(
  'a goal of %s with %s',
  (way, check) => {
    it('is met when the checks pass, not when the model says so', async () => {
      const { goal, server } = await pursue(way, check, [{ text: 'I am done.', usage }, write])
      expect(goal).toMatchObject({ met: true, reason: 'met', checks: 2 })
      const judges = server.requests.map((_, n) => bodyOf(server, n).model)
      // The command has no option for another judge than the session's own model.
      const judge = way === 'the command' ? 'worker' : 'judge'
      expect(judges).toEqual(
        check === 'a judge' ? ['worker', judge, 'worker', 'worker', judge] : ['worker', 'worker', 'worker'],
      )
    })

    it('ends at its limit of rounds', async () => {
      const { goal } = await pursue(way, check, [], { maxRounds: 3 })
      expect(goal).toMatchObject({ met: false, reason: 'rounds', checks: 3 })
      expect(goal?.detail).toMatch(check === 'a judge' ? /Nothing was written/ : /failed: check-1/)
    })

    it('ends at its time limit', async () => {
      // Each answer takes longer than the whole limit.
      const { goal } = await pursue(way, check, [], { maxTimeMs: 1 }, 5)
      expect(goal).toMatchObject({ met: false, reason: 'time', checks: 1 })
    })

    it('ends at its cost limit, in which the requests of the judge count', async () => {
      const { goal, server } = await pursue(way, check, [], { maxCostUsd: 3.5 })
      expect(goal).toMatchObject({ met: false, reason: 'cost', costUsd: 4 })
      expect(goal?.checks).toBe(check === 'a judge' ? 2 : 4)
      expect(server.requests).toHaveLength(4)
    })
  },
)
