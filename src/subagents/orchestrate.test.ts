import { describe, expect, it } from 'vitest'
import {
  assertSteps,
  failedStep,
  type PipelineStage,
  requestFor,
  runPipeline,
  type StepOutcome,
  type StepRunner,
  type StepSpec,
  stepOutcome,
} from './orchestrate.js'

const step = (taskId: string, more: Partial<StepSpec> = {}): StepSpec => ({
  taskId,
  agent: 'explore',
  prompt: 'look',
  ...more,
})
const done = (spec: StepSpec, more: Partial<StepOutcome> = {}): StepOutcome => ({
  taskId: spec.taskId,
  sessionId: 'child',
  agent: spec.agent,
  output: `did ${spec.prompt}`,
  success: true,
  ...more,
})

describe('assertSteps', () => {
  it('accepts steps with different names', () => {
    expect(() => assertSteps([step('a'), step('b')])).not.toThrow()
    expect(() => assertSteps([])).not.toThrow()
  })

  it.each([
    ['null', null, 'it must be an object'],
    ['a promise', Promise.resolve(step('a')), 'it must be an object'],
    ['no name', step(''), 'taskId must be'],
    ['no agent', { taskId: 'a', prompt: 'x' }, 'agent must be'],
    ['a prompt that is not text', { ...step('a'), prompt: 7 }, 'prompt must be'],
  ])('rejects %s, and names the step', (_, spec, words) => {
    expect(() => assertSteps([step('first'), spec as StepSpec])).toThrow(`Step 1: ${words}`)
  })

  it('rejects two steps with one name', () => {
    expect(() => assertSteps([step('a'), step('b'), step('a')])).toThrow(
      "Step 2: another step has the taskId 'a'",
    )
  })
})

describe('requestFor and stepOutcome', () => {
  it('describe a step by its name unless it has a description', () => {
    expect(requestFor(step('a'))).toEqual({ agent: 'explore', description: 'a', prompt: 'look' })
    const outputSchema = { type: 'object' } as const
    expect(requestFor(step('a', { description: 'Looks.', maxSteps: 3, outputSchema }))).toEqual({
      agent: 'explore',
      description: 'Looks.',
      prompt: 'look',
      maxSteps: 3,
      outputSchema,
    })
  })

  it('give an outcome the name that the host gave the step', () => {
    const counters = { rounds: 1, toolCalls: 0, totalTokens: 5 }
    const outcome = { taskId: 'task-run-1', sessionId: 's', agent: 'explore', description: 'd', counters }
    expect(stepOutcome(step('a'), { ...outcome, output: 'seen', success: true, structured: null })).toEqual({
      taskId: 'a',
      sessionId: 's',
      agent: 'explore',
      output: 'seen',
      success: true,
      structured: null,
    })
    expect(stepOutcome(step('a'), { ...outcome, output: '', success: false, error: 'no' })).toMatchObject({
      success: false,
      error: 'no',
    })
  })

  it('describe a step that was not started', () => {
    expect(failedStep(step('a'), new Error('no such agent'))).toEqual({
      taskId: 'a',
      sessionId: '',
      agent: 'explore',
      output: '',
      success: false,
      error: 'no such agent',
    })
  })
})

describe('runPipeline', () => {
  const run: StepRunner = async (spec, { begun }) => {
    begun()
    return done(spec)
  }
  const look: PipelineStage<string> = ({ item }) => step('look', { prompt: item })
  const judge: PipelineStage<string> = ({ previous }) => step('judge', { prompt: `(${previous?.output})` })

  it('passes each item through all stages, each with the outcome of the one before', async () => {
    const outcomes = await runPipeline(['a', 'b'], [look, judge], 60_000, run)
    expect(outcomes.map((outcome) => outcome?.output)).toEqual(['did (did a)', 'did (did b)'])
  })

  it('returns null for items of a pipeline without stages', async () => {
    expect(await runPipeline(['a'], [], 60_000, run)).toEqual([null])
  })

  it('does not let one item wait for another', async () => {
    let release: () => void = () => undefined
    const slow = new Promise<void>((resolve) => {
      release = resolve
    })
    const order: string[] = []
    const outcomes = runPipeline(['slow', 'quick'], [look, judge], 60_000, async (spec, { begun }) => {
      begun()
      if (spec.prompt === 'slow') await slow
      order.push(`${spec.taskId} ${spec.prompt}`)
      if (spec.prompt === '(did quick)') release()
      return done(spec)
    })
    await outcomes
    expect(order.indexOf('judge (did quick)')).toBeLessThan(order.indexOf('look slow'))
  })

  it('ends an item at a stage that returns null, with its result so far', async () => {
    const [outcome] = await runPipeline(['a'], [look, () => null, judge], 60_000, run)
    expect(outcome?.taskId).toBe('look')
  })

  it('does not continue after a step that failed, and returns its outcome', async () => {
    const asked: string[] = []
    const [outcome] = await runPipeline(['a'], [look, judge], 60_000, async (spec) => {
      asked.push(spec.taskId)
      return done(spec, { success: false, error: 'no' })
    })
    expect(outcome).toMatchObject({ taskId: 'look', success: false })
    expect(asked).toEqual(['look'])
  })

  it('returns null for an item whose stage throws or returns no step, and continues with the others', async () => {
    const odd: PipelineStage<string> = ({ item }) => {
      if (item === 'throws') throw new Error('odd')
      return item === 'bad' ? ({ taskId: 'x' } as StepSpec) : step('fine')
    }
    const outcomes = await runPipeline(['throws', 'bad', 'good'], [odd], 60_000, run)
    expect(outcomes.map((outcome) => outcome?.taskId ?? null)).toEqual([null, null, 'fine'])
  })

  it('returns null for a step that takes too long from its start', async () => {
    const [late] = await runPipeline(
      ['a'],
      [look],
      1,
      (spec, { signal, begun }) =>
        new Promise((resolve) => {
          begun()
          signal.addEventListener('abort', () => resolve(done(spec, { success: false })))
        }),
    )
    expect(late).toBeNull()
    // One that waits for its turn has not been begun.
    const [waited] = await runPipeline(['a'], [look], 1, async (spec, { begun }) => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      const outcome = done(spec)
      begun()
      return outcome
    })
    expect(waited?.success).toBe(true)
  })
})
