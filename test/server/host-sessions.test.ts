import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { QuestionCall } from '../../src/feature/question.js'
import { createServer } from '../../src/server/index.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { QuestionAnswers } from '../../src/tool/session-services.js'
import { directory, headers, token } from './support.js'

it('lets clients answer for a session that the host has open, and leaves it open', async () => {
  const [workspace, store] = [directory(), new MemorySessionStore()]
  const agent = await Agent.create()
  const call = { name: 'write', args: { file_path: 'a.txt', content: 'moored' }, id: 'call-1' }
  const session = agent.session(workspace, {
    sessionStore: store,
    model: scriptedModel([{ toolCalls: [call] }, 'Done.', 'Still here.']),
    permissionPolicy: { ask: ['write'] },
    // The host waits for its own user, too.
    onAsk: () => new Promise(() => undefined),
  })
  const server = createServer(agent, {
    token,
    store,
    workspaces: [workspace],
    hostSessions: () => [session],
  })
  const ask = async (method: string, path: string, body?: unknown) => {
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await server(
      new Request(`http://localhost/v1/sessions/${session.sessionId}${path}`, init),
    )
    return response.json()
  }
  const running = session.send('Write it.')
  await expect.poll(() => session.pendingConfirmations().length).toBe(1)
  expect(await ask('GET', '/approvals')).toMatchObject({ approvals: [{ callId: 'call-1' }] })
  await ask('POST', '/approvals/call-1', { decision: 'once' })
  expect((await running).text).toBe('Done.')
  expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('moored')
  await server.close()
  expect((await session.send('Are you there?')).text).toBe('Still here.')
  await agent.close()
})

it('does not let clients close or remove a session that the host has open', async () => {
  const [workspace, store] = [directory(), new MemorySessionStore()]
  const agent = await Agent.create()
  const session = agent.session(workspace, { sessionStore: store, model: scriptedModel(['Still here.']) })
  // No run has begun, so no process holds the session for writing.
  await session.save()
  const server = createServer(agent, {
    token,
    store,
    workspaces: [workspace],
    hostSessions: () => [session],
  })
  for (const [method, path] of [
    ['POST', '/close'],
    ['DELETE', ''],
  ] as const) {
    const url = `http://localhost/v1/sessions/${session.sessionId}${path}`
    const response = await server(new Request(url, { method, headers }))
    expect([method, response.status, await response.json()]).toMatchObject([
      method,
      409,
      { code: 'session_locked' },
    ])
  }
  expect((await session.send('Are you there?')).text).toBe('Still here.')
  await server.close()
  await agent.close()
})

it('lets clients answer a question next to the host: the first answer counts, and the other side sees it', async () => {
  const [workspace, store] = [directory(), new MemorySessionStore()]
  const agent = await Agent.create()
  const questions = [{ question: 'Which harbour?' }]
  const ask = (id: string) => ({ toolCalls: [{ name: 'question', args: { questions }, id }] })
  const calls: QuestionCall[] = []
  let answerAsHost: (answers: QuestionAnswers) => void = () => undefined
  const session = agent.session(workspace, {
    sessionStore: store,
    model: scriptedModel([ask('call-1'), ask('call-2'), 'Done.']),
    onQuestion: (_, __, call) => {
      if (call !== undefined) calls.push(call)
      return new Promise((resolve) => {
        answerAsHost = resolve
      })
    },
  })
  const server = createServer(agent, { token, store, workspaces: [workspace], hostSessions: () => [session] })
  const send = async (method: string, path: string, body?: unknown) => {
    const url = `http://localhost/v1/sessions/${session.sessionId}/questions${path}`
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await server(new Request(url, init))
    return { status: response.status, body: await response.json() }
  }
  const running = session.send('Ask.')

  // Asked in both places, answered by a client.
  await expect.poll(() => session.pendingQuestions()).toMatchObject([{ questionId: 'call-1', questions }])
  expect((await send('GET', '')).body.questions).toMatchObject([{ questionId: 'call-1', questions }])
  const [north, south] = [{ answers: [['north']] }, { answers: [['south']] }]
  expect(await send('POST', '/call-1', north)).toMatchObject({ status: 200 })
  expect(calls[0]?.signal).toMatchObject({ aborted: true, reason: north })
  expect(await send('POST', '/call-1', south)).toMatchObject({
    status: 409,
    body: { code: 'already_answered' },
  })

  // Asked in both places, answered by the host.
  await expect.poll(() => session.pendingQuestions()).toMatchObject([{ questionId: 'call-2' }])
  answerAsHost(south)
  expect((await running).text).toBe('Done.')
  expect((await send('GET', '')).body.questions).toEqual([])
  expect(await send('POST', '/call-2', north)).toMatchObject({ status: 409 })
  expect(await send('POST', '/none', north)).toMatchObject({ status: 404 })
  const outputs = session.traceEvents().flatMap((event) => ('output' in event ? [event.output] : []))
  expect(JSON.stringify([outputs, session.history()])).toMatch(/north.*south/)
  await server.close()
  await agent.close()
})
