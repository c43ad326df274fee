import { describe, expect, it } from 'vitest'
import type { AgentEvent, RunSummary } from '../loop/events.js'
import { noUsage } from '../loop/usage.js'
import type { JsonSchema } from '../tool/json.js'
import { performTask, type TaskSession } from './perform-task.js'
import { TaskRecord } from './task-record.js'

type Ask = (
  prompt: string,
  onEvent: (event: AgentEvent) => void,
  signal: AbortSignal,
) => string | Promise<string>

function prepare(
  asks: Ask[],
  more: { outputSchema?: JsonSchema; keep?(n: number): void; open?(): never } = {},
) {
  const events: AgentEvent[] = []
  const kept: string[] = []
  const closed: string[] = []
  const prompts: string[] = []
  let time = 0
  const record = new TaskRecord(
    {
      taskId: 't',
      parentSessionId: 'p',
      childSessionId: 'c',
      agent: 'explore',
      description: 'looks',
      background: false,
    },
    () => ++time,
  )
  const session: TaskSession = {
    async ask(prompt, signal, onEvent) {
      prompts.push(prompt)
      const text = await asks.shift()?.(prompt, onEvent, signal)
      return { text: text ?? '' } as RunSummary
    },
    usage: () => ({ ...noUsage, totalTokens: 7 }),
    close: async () => void closed.push('closed'),
  }
  const work = {
    record,
    prompt: 'look',
    ...(more.outputSchema !== undefined && { outputSchema: more.outputSchema }),
    signal: record.signal,
    open: async () => (more.open === undefined ? session : more.open()),
    emit: (event: AgentEvent) => void events.push(event),
    keep: async () => {
      more.keep?.(kept.length)
      kept.push(record.snapshot().status)
    },
  }
  return { work, record, events, kept, closed, prompts }
}

const typesOf = (events: readonly AgentEvent[]): string[] => events.map(({ type }) => type)

describe('performTask', () => {
  it('opens a session, sends the prompt, closes the session, and records and reports the outcome', async () => {
    const { work, record, events, kept, closed } = prepare([() => 'seen'])
    expect(await performTask(work)).toEqual({
      taskId: 't',
      sessionId: 'c',
      agent: 'explore',
      description: 'looks',
      success: true,
      output: 'seen',
      counters: { rounds: 0, toolCalls: 0, totalTokens: 7 },
    })
    expect(kept).toEqual(['running', 'completed'])
    expect(closed).toEqual(['closed'])
    expect(typesOf(events)).toEqual(['subagent_start', 'subagent_end'])
    expect(record.snapshot()).toMatchObject({ status: 'completed', usage: { totalTokens: 7 } })
  })

  it('counts rounds, calls and tokens while it runs, and reports each step', async () => {
    const usage = { ...noUsage, totalTokens: 10 }
    const { work, events } = prepare([
      (_, onEvent) => {
        onEvent({ type: 'turn_start' } as AgentEvent)
        onEvent({ type: 'tool_execution_start', toolName: 'read' } as AgentEvent)
        onEvent({ type: 'turn_end', usage } as AgentEvent)
        return 'done'
      },
    ])
    const { counters } = await performTask(work)
    expect(counters).toEqual({ rounds: 1, toolCalls: 1, totalTokens: 10 })
    expect(events.filter(({ type }) => type === 'subagent_progress')).toMatchObject([
      { status: 'calls read', metadata: { toolCalls: 1 } },
      { status: 'round 1 done', metadata: { rounds: 1, totalTokens: 10 } },
    ])
  })

  it('passes on the reports of its own subagents, and notices under its name; nothing else', async () => {
    const { work, events } = prepare([
      (_, onEvent) => {
        onEvent({ type: 'subagent_progress', taskId: 'inner' } as AgentEvent)
        onEvent({ type: 'notice', source: 'mcp', message: 'lost' } as AgentEvent)
        onEvent({ type: 'tool_end' } as AgentEvent)
        return ''
      },
    ])
    await performTask(work)
    expect(events.slice(1, -1)).toEqual([
      { type: 'subagent_progress', taskId: 'inner' },
      { type: 'notice', source: 'explore: mcp', message: 'lost' },
    ])
  })

  it('keeps the text of the last round when it fails', async () => {
    const { work, closed, record } = prepare([
      (_, onEvent) => {
        for (const text of ['first', ' round']) onEvent({ type: 'text_delta', text } as AgentEvent)
        onEvent({ type: 'turn_start' } as AgentEvent)
        for (const text of ['so', ' far']) onEvent({ type: 'text_delta', text } as AgentEvent)
        throw new Error('the model is gone')
      },
    ])
    expect(await performTask(work)).toMatchObject({
      success: false,
      output: 'so far',
      error: 'the model is gone',
    })
    expect(closed).toEqual(['closed'])
    expect(record.snapshot().status).toBe('failed')
  })

  it('is cancelled when it is stopped, with the reason of the caller', async () => {
    const { work, record } = prepare([
      (_, __, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('run aborted')))
          record.cancel('the step took longer than 5 ms')
        }),
    ])
    expect(await performTask(work)).toMatchObject({ success: false, error: 'the step took longer than 5 ms' })
    expect(record.snapshot().status).toBe('cancelled')
  })

  it('is not started when it was cancelled before', async () => {
    const { work, record, events, kept, prompts } = prepare([() => 'seen'])
    record.cancel('not wanted')
    expect(await performTask(work)).toMatchObject({ success: false, error: 'not wanted' })
    expect(prompts).toEqual([])
    expect(kept).toEqual(['cancelled'])
    expect(typesOf(events)).toEqual(['subagent_end'])
  })

  it('reports that the parent aborted it when no other reason is given', async () => {
    const { work } = prepare([])
    const controller = new AbortController()
    controller.abort()
    expect(await performTask({ ...work, signal: controller.signal })).toMatchObject({
      error: 'aborted by parent',
    })
  })

  it('fails when no session can be opened', async () => {
    const { work, closed } = prepare([], {
      open: () => {
        throw new Error('no such model')
      },
    })
    expect(await performTask(work)).toMatchObject({ success: false, error: 'no such model', output: '' })
    expect(closed).toEqual([])
  })

  it('is not started when it cannot be recorded, and reports when its end cannot be', async () => {
    const first = prepare([() => 'seen'], {
      keep: (n) => {
        if (n === 0) throw new Error('disk full')
      },
    })
    expect(await performTask(first.work)).toMatchObject({ success: false, error: 'disk full' })
    expect(first.prompts).toEqual([])
    const last = prepare([() => 'seen'], {
      keep: (n) => {
        if (n === 1) throw new Error('disk full')
      },
    })
    expect(await performTask(last.work)).toMatchObject({ success: true })
    expect(last.events).toContainEqual({ type: 'persistence_failed', operation: 'task', error: 'disk full' })
  })
})

describe('performTask with a schema', () => {
  const outputSchema: JsonSchema = {
    type: 'object',
    properties: { n: { type: 'number' } },
    required: ['n'],
    additionalProperties: false,
  }

  it('asks for JSON and reads the answer as data', async () => {
    const { work, prompts } = prepare([() => '```json\n{ "n": 1 }\n```'], { outputSchema })
    expect(await performTask(work)).toMatchObject({ success: true, structured: { n: 1 } })
    expect(prompts[0]).toContain(JSON.stringify(outputSchema))
  })

  it('asks once more, with the problem', async () => {
    const { work, prompts } = prepare([() => '{ "n": "one" }', () => '{ "n": 1 }'], { outputSchema })
    expect(await performTask(work)).toMatchObject({
      success: true,
      structured: { n: 1 },
      output: '{ "n": 1 }',
    })
    expect(prompts[1]).toContain('does not fit its JSON Schema')
    expect(prompts[1]).toContain('n')
  })

  it('fails after the second answer that does not match', async () => {
    const { work, prompts } = prepare([() => 'no JSON', () => '{}', () => '{ "n": 1 }'], { outputSchema })
    const outcome = await performTask(work)
    expect(outcome).toMatchObject({
      success: false,
      error: expect.stringContaining('the answer does not fit its schema'),
    })
    expect(outcome).not.toHaveProperty('structured')
    expect(prompts).toHaveLength(2)
  })
})
