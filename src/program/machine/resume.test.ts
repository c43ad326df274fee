import { afterAll, describe, expect, it } from 'vitest'
import { type Envelope, outputEnvelope } from '../../tool/envelope.js'
import type { CallWatch } from '../../tool/session-services.js'
import type { ProgramHost } from './host.js'
import { createProgramMachine, type Program, type ProgramOutcome } from './machine.js'
import type { ProgramJournal, ProgramStep } from './program-journal.js'

const machine = createProgramMachine()
afterAll(() => machine.close())

type Called = { readonly tool: string; readonly args: unknown; readonly id: string }

function hostOf(answer: (call: Called, watch: CallWatch) => unknown) {
  const called: Called[] = []
  const host: ProgramHost = {
    async call({ tool, args }, { id, watch, signal }): Promise<Envelope> {
      const call = { tool, args, id }
      called.push(call)
      const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve))
      return outputEnvelope(await Promise.race([answer(call, watch), stopped.then(() => 'stopped')]))
    },
  }
  return { host, called }
}

/** Records steps like a log: as text. */
function journalOf(before: readonly ProgramStep[] = [], begun: readonly number[] = []) {
  const steps: ProgramStep[] = [...before]
  const journal: ProgramJournal = {
    before,
    begun: new Set(begun),
    add: async (more) => void steps.push(...(JSON.parse(JSON.stringify(more)) as ProgramStep[])),
  }
  return { journal, steps }
}

const start = { startedAt: 1_700_000_000_000 }
const run = (source: string, rest: Omit<Program, 'source' | 'startedAt'>): Promise<ProgramOutcome> =>
  machine.run({ ...start, source, ...rest })
const hang = () => new Promise<never>(() => undefined)

describe('the time of a program', () => {
  it('is paused while all pending calls wait for a user', async () => {
    const { host } = hostOf(async (_, { waiting }) => {
      waiting(true)
      await new Promise((resolve) => setTimeout(resolve, 1_300))
      waiting(false)
      return 'yes'
    })
    await run('export default () => 1', { host })
    const source = `export default async (ctx) => (await Promise.all([ctx.tool('a'), ctx.tool('b')])).length`
    expect(await run(source, { host, limits: { timeoutMs: 1_000 } })).toMatchObject({ ok: true, result: 2 })
  })

  it.each([
    ['a script that is busy', `ctx.tool('ask'); for (;;);`],
    ['a script that is busy in native code', `ctx.tool('ask'); new Array(1e9) + ''`],
    ['a script that sleeps', `ctx.tool('ask'); await sleep(1e6)`],
    ['a script that is busy now and then', `ctx.tool('ask'); for (;;) await sleep(0)`],
    ['another call', `await Promise.all([ctx.tool('ask'), ctx.tool('work')])`],
  ])('runs for %s', async (_, body) => {
    const { host } = hostOf(({ tool }, { waiting }) => {
      if (tool === 'ask') waiting(true)
      return hang()
    })
    const outcome = await run(`export default async (ctx) => { ${body} }`, {
      host,
      limits: { timeoutMs: 200 },
    })
    expect(outcome).toMatchObject({ ok: false, code: 'program_timeout' })
  })
})

const work = `export default async (ctx, inputs) => {
  const first = await ctx.tool('one', { n: 1 })
  const at = Date.now()
  const both = await Promise.all([ctx.tool('two', { n: 2 }), ctx.readFile('f'), sleep(5)])
  console.log('between')
  const last = await ctx.tool('three', { n: Math.random() })
  return [first.output, both[0].output, both[1], last.output, at, Date.now() >= at]
}`

describe('a program that is resumed in another process', () => {
  const answer = ({ tool }: Called) => (tool === 'three' ? hang() : `${tool} done`)

  /** The steps of a process that ends during the third call. */
  async function cutOff(): Promise<ProgramStep[]> {
    const { journal, steps } = journalOf()
    const controller = new AbortController()
    const { host } = hostOf((call) => {
      if (call.tool === 'three') controller.abort()
      return answer(call)
    })
    await run(work, { host, journal, signal: controller.signal })
    return steps
  }

  it('gets the recorded answers without calling again, and has the same result', async () => {
    const before = await cutOff()
    expect(before[0]).toMatchObject({ step: 'begin', startedAt: start.startedAt })
    const { host, called } = hostOf(({ tool }) => `${tool} done`)
    const { journal, steps } = journalOf(before)
    const outcome = await machine.run({ source: work, host, journal, startedAt: 1 })
    expect(called).toEqual([{ tool: 'three', args: { n: expect.any(Number) }, id: '5' }])
    expect(outcome).toMatchObject({
      ok: true,
      result: ['one done', 'two done', 'read done', 'three done', expect.any(Number), true],
      console: [{ text: 'between' }],
    })
    expect(outcome.calls.map((call) => [call.tool_name, call.success])).toEqual([
      ['one', true],
      ['two', true],
      ['read', true],
      ['three', true],
    ])
    // The clock and the random numbers are the same as before.
    const [, answered] = before
    expect(answered).toMatchObject({ step: 'answer', at: expect.any(Number) })
    if (outcome.ok && Array.isArray(outcome.result) && answered?.step === 'answer')
      expect(outcome.result[4]).toBe(start.startedAt + answered.at)
    // A third process calls nothing at all.
    const third = hostOf(hang)
    const again = await run(work, { host: third.host, journal: journalOf(steps).journal })
    expect(again).toMatchObject({ ok: true })
    expect(third.called).toEqual([])
  })

  it('gets an error for a call that had started and has no known result', async () => {
    const before = await cutOff()
    const { host, called } = hostOf(answer)
    const outcome = await run(work, { host, journal: journalOf(before, [5]).journal })
    expect(called).toEqual([])
    expect(outcome).toMatchObject({ ok: true })
    expect(outcome.ok && outcome.result).toContainEqual(
      expect.stringMatching(/^interrupted, outcome unknown/),
    )
  })

  it('gets answers in the recorded order', async () => {
    const source = `export default async (ctx) => {
      const order = []
      await Promise.all(['a', 'b', 'c'].map((name) => ctx.tool(name).then(() => order.push(name))))
      return [order, (await ctx.tool('end')).output]
    }`
    const { journal, steps } = journalOf()
    const ready: (() => void)[] = []
    const { host } = hostOf(({ tool }) => {
      if (tool === 'end') return hang()
      return new Promise<string>((resolve) => {
        ready.push(() => resolve(tool))
        if (ready.length === 3) for (const [at, go] of [...ready].reverse().entries()) setTimeout(go, at * 20)
      })
    })
    await run(source, { host, journal, limits: { timeoutMs: 500 } })
    const next = hostOf(() => 'over')
    const outcome = await run(source, {
      host: next.host,
      journal: journalOf(steps).journal,
      limits: { timeoutMs: 500 },
    })
    expect(outcome).toMatchObject({ ok: true, result: [['c', 'b', 'a'], 'over'] })
    expect(next.called).toHaveLength(1)
  })

  it('records the same steps every time, by the clock of the host', async () => {
    const recorded: unknown[] = []
    for (const _ of [1, 2]) {
      const { journal, steps } = journalOf()
      let now = 0
      const { host } = hostOf(({ tool }) => `${tool} done`)
      const source = `export default async (ctx) => {
        for (const name of ['a', 'b', 'c']) await ctx.tool(name, { at: Date.now() })
      }`
      await machine.run({ source, host, journal, startedAt: 0, now: () => (now += 100) })
      recorded.push(steps)
    }
    expect(recorded[0]).toHaveLength(4)
    expect(recorded[0]).toEqual(recorded[1])
  })

  it.each([
    [
      'calls something else',
      (steps: ProgramStep[]) => steps.map((one) => ('key' in one ? { ...one, key: 'x' } : one)),
    ],
    [
      'does not repeat a request',
      (steps: ProgramStep[]) => steps.map((one) => ('id' in one ? { ...one, id: one.id + 40 } : one)),
    ],
    [
      'is a different script',
      (steps: ProgramStep[]) => steps.map((one) => ('program' in one ? { ...one, program: 'x' } : one)),
    ],
  ])('is rejected when it %s', async (_, change) => {
    const before = change(await cutOff())
    const { host, called } = hostOf(answer)
    const outcome = await run(work, { host, journal: journalOf(before).journal })
    expect(outcome).toMatchObject({
      ok: false,
      code: 'program_not_repeatable',
      message: expect.stringContaining('cannot be resumed'),
    })
    expect(called).toEqual([])
    expect(await run('export default () => 1', { host })).toMatchObject({ ok: true, result: 1 })
  })

  it('ends when its steps cannot be saved', async () => {
    const { host } = hostOf(() => 'done')
    const journal = { ...journalOf().journal, add: () => Promise.reject(new Error('the disk is full')) }
    expect(await run(work, { host, journal })).toMatchObject({
      ok: false,
      message: expect.stringContaining('the disk is full'),
    })
  })
})
