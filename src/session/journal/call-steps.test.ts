import { describe, expect, it } from 'vitest'
import type { SessionRecord, ToolStep } from '../../store/records.js'
import type { CallStep } from '../../tool/session-services.js'
import { canResumeCall, keepSteps } from './call-steps.js'

function open(restored?: object) {
  const written: SessionRecord[] = []
  const blobs: string[] = []
  const journal = {
    append: async (records: Promise<SessionRecord[]>) => void written.push(...(await records)),
    writeBlob: async (bytes: Uint8Array) => `blob${blobs.push(new TextDecoder().decode(bytes))}`,
  }
  const steps = keepSteps({
    callId: 'c',
    messageId: 'm',
    sessionId: 's',
    journal: journal as never,
    restored: restored as never,
  })
  const contents = () =>
    written.map(({ data }) => (data as { content: ToolStep & { stub?: object } }).content)
  return { steps, written, contents, blobs }
}
const known = (more: object = {}) => ({
  openSteps: new Map([['c', { messageId: 'm', steps: [{ step: 1 }] as CallStep[], over: false, ...more }]]),
  openIntents: [],
})

describe('keepSteps', () => {
  it('writes steps with consecutive ids', async () => {
    const { steps, written, contents } = open()
    await steps.add([{ step: { n: 1 } }, { step: { n: 2 }, ends: 'inner' }])
    await steps.add([{ step: null }])
    expect(written.map(({ data }) => (data as { id: string }).id)).toEqual([
      'm.c.step0',
      'm.c.step1',
      'm.c.step2',
    ])
    expect(contents()).toMatchObject([{ step: { n: 1 } }, { step: { n: 2 }, ends: 'inner' }, { step: null }])
  })

  it('continues from complete steps of an earlier process for the same answer', async () => {
    const { steps, written } = open(known())
    expect(steps.before).toEqual([{ step: 1 }])
    await steps.add([{ step: 2 }])
    expect(written[0]?.data).toMatchObject({ id: 'm.c.step1' })
    expect(open(known({ messageId: 'other' })).steps.before).toEqual([])
    expect(open(known({ over: true })).steps.before).toEqual([])
  })

  it('lists the inner calls that had started and must not be repeated', () => {
    const intent = (callId: string, more: object = {}) => ({
      messageId: 'm',
      intent: { callId, idempotent: false, ...more },
    })
    const { steps } = open({
      openSteps: new Map(),
      openIntents: [
        intent('c/1'),
        intent('c/2', { idempotent: true }),
        intent('c2/1'),
        { ...intent('c/3'), messageId: 'other' },
        intent('c/4/5'),
      ],
    })
    expect(steps.begun).toEqual(['1', '4/5'])
  })

  it('stores a large step next to the log, with a stub in its place', async () => {
    const { steps, contents, blobs } = open()
    await steps.add([{ step: 'x'.repeat(100_000) }])
    expect(contents()).toMatchObject([{ type: 'blob', digest: 'blob1', stub: { callId: 'c', step: null } }])
    expect(JSON.parse(blobs[0] ?? '')).toMatchObject({ type: 'tool_step', step: 'x'.repeat(100_000) })
  })

  it('stops recording after 8 MB, and says so once in the log', async () => {
    const { steps, contents, blobs } = open()
    for (let n = 0; n < 12; n++) await steps.add([{ step: 'x'.repeat(1_000_000) }])
    expect(blobs).toHaveLength(8)
    expect(contents().slice(8)).toEqual([{ type: 'tool_step', callId: 'c', step: null, over: true }])
  })
})

describe('canResumeCall', () => {
  it('returns true for a call of that answer whose steps are all present', () => {
    expect(canResumeCall(known(), 'm', 'c')).toBe(true)
    expect(canResumeCall(known(), 'other', 'c')).toBe(false)
    expect(canResumeCall(known(), 'm', 'd')).toBe(false)
    expect(canResumeCall(known({ over: true }), 'm', 'c')).toBe(false)
    expect(canResumeCall(known({ steps: [] }), 'm', 'c')).toBe(false)
  })
})
