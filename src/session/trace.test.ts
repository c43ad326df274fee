import { describe, expect, it } from 'vitest'
import type { CallRecord } from '../loop/gate-parts.js'
import { errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { Trace } from './trace.js'

const record = (callId: string, more: Partial<CallRecord> = {}): CallRecord => ({
  callId,
  toolName: 'bash',
  origin: 'model',
  args: '{"command":"cat secret"}',
  endedAt: 'done',
  startedAtMs: 1_000,
  durationMs: 5,
  envelope: outputEnvelope('grüße', { exit_code: 0, note: 'secret' }),
  ...more,
})

const session = { sessionId: 's', tenantId: 'acme', correlationId: 'c-7' }

describe('the trace', () => {
  it('records that a call happened and how it ended, not its content', () => {
    const trace = new Trace(session, 10)
    trace.add(record('1', { runId: 'r', toolCallId: 'c', verdict: { action: 'ask' }, approval: 'once' }))
    expect(trace.list()).toEqual([
      {
        schema: 'capstan.trace_event.v1',
        kind: 'tool_execution',
        name: 'bash',
        sessionId: 's',
        tenantId: 'acme',
        correlationId: 'c-7',
        runId: 'r',
        timestampMs: 1_005,
        callId: '1',
        toolCallId: 'c',
        origin: 'model',
        success: true,
        exitCode: 0,
        durationMs: 5,
        outputBytes: 7,
        metadataKeys: ['duration_ms', 'exit_code', 'note'],
        endedAt: 'done',
        verdict: 'ask',
        approval: 'once',
      },
    ])
    expect(JSON.stringify(trace.list())).not.toMatch(/secret|grüße/)
  })

  it('has the calls of earlier runs after the session was idle, up to the limit', () => {
    const trace = new Trace(session, 3)
    trace.add(record('1'))
    trace.add(record('2'))
    const before = trace.list()
    trace.rest()
    expect(trace.list()).toStrictEqual(before)
    trace.add(record('3'))
    trace.rest()
    trace.add(record('4'))
    expect(trace.list().map(({ callId }) => callId)).toEqual(['2', '3', '4'])
    for (let at = 5; at < 40; at++) trace.add(record(String(at)))
    expect(trace.list().map(({ callId }) => callId)).toEqual(['37', '38', '39'])
  })

  it('has a failure with its exit code, and the step that ended it', () => {
    const trace = new Trace(session, 10)
    trace.add(record('1', { envelope: errorEnvelope('no', { exit_code: 3 }), endedAt: 'rules' }))
    trace.add(record('2', { envelope: errorEnvelope('no') }))
    expect(trace.list()).toMatchObject([
      { success: false, exitCode: 3, endedAt: 'rules', outputBytes: 2 },
      { success: false, exitCode: 1, runId: 'host' },
    ])
  })

  it.each([0, 1, 5])('keeps the newest %i', (most) => {
    const trace = new Trace(session, most)
    for (let at = 0; at < 100; at++) trace.add(record(String(at)))
    expect(trace.list().map(({ callId }) => Number(callId))).toEqual(
      Array.from({ length: most }, (_, at) => 100 - most + at),
    )
  })
})
