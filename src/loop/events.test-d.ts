import { describe, expectTypeOf, it } from 'vitest'
import type { AgentEvent, AgentResult, EventStream, Session } from '../index.js'

describe('an event of a run', () => {
  it('has the fields that readers look for on every member of the union', () => {
    const read = (event: AgentEvent): void => {
      expectTypeOf(event.text).toEqualTypeOf<string | undefined>()
      expectTypeOf(event.toolName).toEqualTypeOf<string | undefined>()
      expectTypeOf(event.toolId).toEqualTypeOf<string | undefined>()
      expectTypeOf(event.toolOutput).toEqualTypeOf<string | undefined>()
      expectTypeOf(event.exitCode).toEqualTypeOf<number | undefined>()
      expectTypeOf(event.turn).toEqualTypeOf<number | undefined>()
      expectTypeOf(event.prompt).toEqualTypeOf<string | undefined>()
      expectTypeOf(event.error).toEqualTypeOf<string | undefined>()
      expectTypeOf(event.runId).toEqualTypeOf<string | undefined>()
      expectTypeOf(event.result).toEqualTypeOf<AgentResult | undefined>()
    }
    expectTypeOf(read).toBeFunction()
  })

  it('is still distinguished by its type', () => {
    const read = (event: AgentEvent): void => {
      if (event.type === 'text_delta') expectTypeOf(event.text).toEqualTypeOf<string>()
      if (event.type === 'turn_start') {
        expectTypeOf(event.turn).toEqualTypeOf<number>()
        expectTypeOf(event.text).toEqualTypeOf<undefined>()
      }
      if (event.type === 'agent_end') expectTypeOf(event.result).toEqualTypeOf<AgentResult>()
      // @ts-expect-error A field that is not shared can be read only where it is.
      event.checkCount
    }
    expectTypeOf(read).toBeFunction()
  })

  it('does not accept a field of another event type', () => {
    // @ts-expect-error A notice has no text.
    const wrong: AgentEvent = { type: 'notice', source: 'a', message: 'b', text: 'c' }
    expectTypeOf(wrong).toExtend<AgentEvent>()
  })
})

describe('the loops that readers write', () => {
  it('compile with next()', () => {
    const loop = async (session: Session, write: (text: string) => void): Promise<void> => {
      const stream = await session.stream('Stream one sentence')
      while (true) {
        const { value: event, done } = await stream.next()
        if (done) break
        if (!event) continue
        if (event.text) write(event.text)
      }
    }
    expectTypeOf(loop).toBeFunction()
  })

  it('compile with for await', () => {
    const loop = async (stream: EventStream, render: (partial: unknown) => void): Promise<void> => {
      for await (const ev of stream) {
        if (ev.type === 'tool_output_delta' && ev.toolName === 'generate_object') {
          const { object_partial } = JSON.parse(ev.text)
          render(object_partial)
        }
        if (ev.error) render(ev.error)
      }
    }
    expectTypeOf(loop).toBeFunction()
  })

  it('compile on results of tools', () => {
    const loop = async (session: Session): Promise<void> => {
      const result = await session.program({ source: '', allowedTools: ['read', 'grep'] })
      const meta = JSON.parse(result.metadataJson)
      expectTypeOf(meta.script_result).toBeAny()
      const { object } = JSON.parse((await session.tool('generate_object', {})).output)
      expectTypeOf(object).toBeAny()
    }
    expectTypeOf(loop).toBeFunction()
  })
})
