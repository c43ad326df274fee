import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  Agent,
  AgentBuilder,
  createJsonTool,
  readUiApprovals,
  type Session,
  toUiMessageResponse,
} from '../../src/index.js'
import type { SessionOptions } from '../../src/session/options.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import {
  type Chat,
  type ChatMessage,
  callsOf,
  openChat,
  serveChat,
  settled,
  textOf,
  waitingIn,
} from './chat.js'

async function open(
  script: readonly (ScriptedStep | string)[],
  options: SessionOptions = {},
): Promise<Session> {
  const base = temporaryDirectory()
  writeFileSync(join(base, 'log.txt'), 'fair wind\n')
  const agent = await Agent.create({}, { userDir: join(base, 'user'), env: {} })
  onTestFinished(() => agent.close())
  return agent.session(base, {
    model: scriptedModel(script),
    sandbox: 'off',
    permissionPolicy: { ask: ['bash', 'echo'] },
    confirmationPolicy: { enabled: true, defaultTimeoutMs: 60_000 },
    tools: [echo],
    ...options,
  })
}

const echo = createJsonTool<{ n?: number }>({
  name: 'echo',
  description: 'Returns its argument.',
  parameters: { type: 'object', properties: { n: { type: 'number' } } },
  execute: ({ n }) => `echo ${n}`,
})

/** The server of docs/events.md: it answers the approvals of a request and continues the run, or begins one. */
function answerWith(session: Session, responses: string[] = [], asks = 0) {
  return async (messages: ChatMessage[]): Promise<Response> => {
    const waiting = readUiApprovals(messages)
    for (const { approvalId, approved, reason } of waiting?.answers ?? [])
      await session.confirmToolUse(approvalId, approved, reason)
    const source =
      waiting === undefined
        ? await session.stream(textOf(messages.at(-1) as ChatMessage))
        : session.watch(waiting.runId, { from: waiting.sequence })
    // A response ends soon after the first question. On a slow machine the next one would come after it.
    if (waiting === undefined)
      await expect.poll(() => session.pendingConfirmations().length).toBeGreaterThanOrEqual(asks)
    const response = toUiMessageResponse(source, { endAtApproval: true })
    const [kept, given] = response.body?.tee() ?? []
    if (kept !== undefined)
      new Response(kept).text().then(
        (text) => responses.push(text),
        () => undefined,
      )
    return new Response(given, { headers: response.headers })
  }
}

async function answerAll(chat: Chat, message: ChatMessage, approved = true): Promise<void> {
  for (const id of waitingIn(message)) await chat.addToolApprovalResponse({ id, approved })
}

const call = (name: string, args: Record<string, string | number>, id: string) => ({ name, args, id })

describe.each([['ai-6'], ['ai']])(
  'a chat of the package %s, with responses that end at approvals',
  (name) => {
    it('continues in the same message after an approval', async () => {
      const session = await open([{ text: 'Asking.', toolCalls: [call('echo', { n: 1 }, 'c1')] }, 'Done.'])
      const responses: string[] = []
      const chat = await openChat(name, await serveChat(answerWith(session, responses)))
      await chat.sendMessage({ text: 'go' })
      const asked = await settled(chat, (message) => waitingIn(message).length === 1)
      expect(textOf(asked)).toBe('Asking.')
      expect(responses).toHaveLength(1)
      await answerAll(chat, asked)
      const answered = await settled(chat, (message) => textOf(message).endsWith('Done.'))
      expect(answered.id).toBe(asked.id)
      expect(chat.messages).toHaveLength(2)
      expect(callsOf(answered)).toEqual({ c1: ['output-available', 'echo 1'] })
      expect(answered.parts.map(({ type }) => type)).toEqual([
        'step-start',
        'text',
        'dynamic-tool',
        'data-approval',
        'data-paused',
        'step-start',
        'text',
      ])
      expect(responses).toHaveLength(2)
      for (const response of responses) {
        expect(response).not.toContain('"type":"error"')
        expect(response).toMatch(/"type":"finish"[^\n]*\n\ndata: \[DONE\]\n\n$/)
      }
    })

    it('shows a rejection as a denial, and continues', async () => {
      const session = await open([{ toolCalls: [call('echo', { n: 1 }, 'c1')] }, 'Then not.'])
      const chat = await openChat(name, await serveChat(answerWith(session)))
      await chat.sendMessage({ text: 'go' })
      await answerAll(chat, await settled(chat, (message) => waitingIn(message).length === 1), false)
      const answered = await settled(chat, (message) => textOf(message) === 'Then not.')
      expect(callsOf(answered)).toEqual({ c1: ['output-denied', undefined] })
      expect(chat.messages).toHaveLength(2)
    })

    it('has two approvals at once, then another round with one more, all in one message', async () => {
      const session = await open([
        { toolCalls: [call('echo', { n: 1 }, 'c1'), call('echo', { n: 2 }, 'c2')] },
        { text: 'And once more.', toolCalls: [call('echo', { n: 3 }, 'c3')] },
        ' Done.',
      ])
      const chat = await openChat(name, await serveChat(answerWith(session, [], 2)))
      await chat.sendMessage({ text: 'go' })
      const first = await settled(chat, (message) => waitingIn(message).length === 2)
      expect(waitingIn(first)).toEqual(['c1', 'c2'])
      await answerAll(chat, first)
      const second = await settled(chat, (message) => waitingIn(message).includes('c3'))
      await answerAll(chat, second)
      const last = await settled(chat, (message) => textOf(message) === 'And once more. Done.')
      expect(chat.messages).toHaveLength(2)
      expect(callsOf(last)).toEqual({
        c1: ['output-available', 'echo 1'],
        c2: ['output-available', 'echo 2'],
        c3: ['output-available', 'echo 3'],
      })
    })

    it('is not delayed by a call that waits for the one that asks', async () => {
      const session = await open([
        {
          toolCalls: [
            call('bash', { command: 'echo wind > log.txt' }, 'c1'),
            call('read', { file_path: 'log.txt' }, 'c2'),
          ],
        },
        'Done.',
      ])
      const chat = await openChat(name, await serveChat(answerWith(session)))
      await chat.sendMessage({ text: 'go' })
      const asked = await settled(chat, (message) => waitingIn(message).length === 1)
      expect(callsOf(asked)['c2']).toEqual(['output-available', 'In progress.'])
      await answerAll(chat, asked)
      const answered = await settled(chat, (message) => textOf(message) === 'Done.')
      expect(callsOf(answered)['c2']).toEqual(['output-available', expect.stringContaining('wind')])
      expect(Object.keys(callsOf(answered))).toEqual(['c1', 'c2'])
    })

    it('continues a run whose approval ended before it was answered', async () => {
      const session = await open([{ toolCalls: [call('echo', { n: 1 }, 'c1')] }, 'Too late.'])
      const chat = await openChat(name, await serveChat(answerWith(session)))
      await chat.sendMessage({ text: 'go' })
      const asked = await settled(chat, (message) => waitingIn(message).length === 1)
      await session.cancelConfirmations()
      await expect.poll(async () => (await session.runs()).at(-1)?.status).toBe('completed')
      await answerAll(chat, asked)
      const answered = await settled(chat, (message) => textOf(message) === 'Too late.')
      expect(callsOf(answered)['c1']?.[0]).toMatch(/^output-(denied|error)$/)
      expect(chat.messages).toHaveLength(2)
    })

    it('shows the run of a built agent', async () => {
      const model = scriptedModel([{ text: 'Calling.', toolCalls: [call('echo', { n: 4 }, 'c1')] }, ' Done.'])
      const agent = new AgentBuilder('chatty', model).tool(echo).build()
      const url = await serveChat(async (messages) =>
        toUiMessageResponse(agent.prompt(textOf(messages.at(-1) as ChatMessage)).stream(), {
          endAtApproval: true,
        }),
      )
      const chat = await openChat(name, url)
      await chat.sendMessage({ text: 'go' })
      const answered = await settled(chat, (message) => textOf(message) === 'Calling. Done.')
      expect(callsOf(answered)).toEqual({ c1: ['output-available', 'echo 4'] })
    })
  },
)
