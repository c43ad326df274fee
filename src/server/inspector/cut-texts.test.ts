import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../loop/events.js'
import { cutTexts } from './cut-texts.js'

describe('cutTexts', () => {
  it('shortens texts at every depth and counts what is missing', () => {
    const event: AgentEvent = {
      type: 'tool_end',
      toolId: 'call-1',
      toolName: 'bash',
      toolOutput: 'x'.repeat(250),
      exitCode: 0,
      isError: false,
      metadata: { duration_ms: 1, diff: 'y'.repeat(130), lines: [{ text: 'z'.repeat(101) }], count: 3 },
    }
    const cut = cutTexts(event, 100)
    expect(cut).toEqual({
      cutChars: 150 + 30 + 1,
      event: {
        ...event,
        toolOutput: 'x'.repeat(100),
        metadata: { duration_ms: 1, diff: 'y'.repeat(100), lines: [{ text: 'z'.repeat(100) }], count: 3 },
      },
    })
    expect(event.toolOutput).toHaveLength(250)
  })

  it('returns a short event as it is', () => {
    const event: AgentEvent = { type: 'text_delta', text: 'Land in sight!' }
    expect(cutTexts(event, 100)).toEqual({ event })
    expect(cutTexts(event, 100).event).toBe(event)
  })

  it('leaves arguments valid JSON', () => {
    const args = JSON.stringify({ file_path: 'a.txt', content: 'c'.repeat(500) })
    const event: AgentEvent = { type: 'tool_execution_start', toolId: 'call-1', toolName: 'write', args }
    const cut = cutTexts(event, 100)
    expect(cut.cutChars).toBe(400)
    expect(cut.event.type === 'tool_execution_start' && JSON.parse(cut.event.args)).toEqual({
      file_path: 'a.txt',
      content: 'c'.repeat(100),
    })
  })

  it('shortens arguments that are not JSON like other texts, and splits no character', () => {
    const start: AgentEvent = {
      type: 'tool_execution_start',
      toolId: 'c',
      toolName: 't',
      args: '{'.repeat(300),
    }
    expect(cutTexts(start, 100)).toMatchObject({ cutChars: 200, event: { args: '{'.repeat(100) } })
    const text = `${'a'.repeat(99)}😀 and more`
    expect(cutTexts({ type: 'text_delta', text }, 100)).toMatchObject({ event: { text: 'a'.repeat(99) } })
  })
})
