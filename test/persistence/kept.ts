import { expect } from 'vitest'
import { lowerHistory } from '../../src/model/lower-history.js'
import { blobDigests, foldSession } from '../../src/store/fold-session.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionRecord } from '../../src/store/records.js'
import type { SessionState } from '../../src/store/session-state.js'
import type { OpenLogOptions, SessionLog, SessionStore } from '../../src/store/session-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import type { AssistantMessage, CompletionRequest, Message, ToolMessage } from '../../src/tool/completion.js'
import type { AnyTool } from '../../src/tool/contract.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'

/** What a store has of a session. */
export async function stateOf(store: SessionStore, sessionId: string): Promise<SessionState> {
  return foldSession(await recordsOf(store, sessionId), {
    readBlob: (digest) => store.readBlobSync?.(sessionId, digest),
  })
}

export async function recordsOf(store: SessionStore, sessionId: string): Promise<readonly SessionRecord[]> {
  return (await store.read(sessionId))?.records ?? []
}

/** A store with these records in it, as a process that ended left them. */
export async function storeWith(
  sessionId: string,
  records: readonly SessionRecord[],
  readBlob: (digest: string) => Uint8Array | undefined = () => undefined,
): Promise<MemorySessionStore> {
  const store = new MemorySessionStore()
  if (records.length === 0) return store
  const log = await store.open(sessionId, { holder: 'the one before', now: () => 0 })
  for (const digest of blobDigests(records)) {
    const bytes = readBlob(digest)
    if (bytes !== undefined) await log.writeBlob(bytes)
  }
  await log.append(records)
  await log.close()
  return store
}

/** Where a process can end: after each write of the log, as the number of records in it then. */
export class BatchStore extends MemorySessionStore {
  readonly cuts: number[] = [0]

  override async create(sessionId: string, records: readonly SessionRecord[]): Promise<boolean> {
    const made = await super.create(sessionId, records)
    if (made) this.cuts.push((this.cuts.at(-1) ?? 0) + records.length)
    return made
  }

  override async open(sessionId: string, options: OpenLogOptions): Promise<SessionLog> {
    const log = await super.open(sessionId, options)
    const { cuts } = this
    return {
      lease: log.lease,
      append(records) {
        cuts.push((cuts.at(-1) ?? 0) + records.length)
        return log.append(records)
      },
      writeBlob: (bytes) => log.writeBlob(bytes),
      flush: () => log.flush(),
      close: () => log.close(),
    }
  }
}

/**
 * Every call has exactly one result, right after it; no result is without its call; nothing is empty; roles follow each
 * other.
 */
export function flawOf(messages: readonly Message[]): string | undefined {
  let open: string[] = []
  let calledBefore = false
  const everCalled = new Set<string>()
  for (const [at, message] of messages.entries()) {
    if (message.content.length === 0) return `message ${at} (${message.role}) is empty`
    if (message.role === 'tool') {
      if (!calledBefore) return `message ${at} has results without calls`
      const results = message.content.map(({ id }) => id)
      if (results.join() !== open.join()) return `message ${at} answers ${results}, asked was ${open}`
      open = []
      calledBefore = false
      continue
    }
    if (open.length > 0) return `message ${at} (${message.role}) comes before the results of ${open}`
    open = callIds(message)
    calledBefore = open.length > 0
    for (const id of open) {
      if (everCalled.has(id)) return `call ${id} occurs twice`
      everCalled.add(id)
    }
  }
  return open.length > 0 ? `${open} have no results` : undefined
}

export function expectWhole(messages: readonly Message[]): void {
  expect(flawOf(messages)).toBeUndefined()
  expect(lowerHistory(messages), 'what a provider is sent').toBe(messages)
}

function callIds(message: Message): string[] {
  if (message.role !== 'assistant') return []
  return message.content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []))
}

export function callsIn(messages: readonly Message[]): string[] {
  return messages.flatMap(callIds)
}

/** The results in these messages, by the id of their call. */
export function resultsIn(messages: readonly Message[]): Map<string, string> {
  return new Map(
    messages
      .filter((message): message is ToolMessage => message.role === 'tool')
      .flatMap(({ content }) => content.map((part) => [part.id, JSON.stringify(part.content)] as const)),
  )
}

/** What the calls of a tool did, by the id of their call. */
export type Ledger = { readonly begun: string[]; readonly done: string[] }

/** A tool with an effect that is noted outside of the session. Its arguments name the call. */
export function notingTool(
  ledger: Ledger,
  options: { readonly name?: string; readonly idempotent?: boolean; work?(n: string): Promise<void> } = {},
): AnyTool {
  const { name = 'note', idempotent = false, work } = options
  return createJsonTool({
    name,
    description: 'Notes a word.',
    parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    idempotent,
    async execute({ word }) {
      ledger.begun.push(String(word))
      await work?.(String(word))
      ledger.done.push(String(word))
      return `noted ${word}`
    },
  })
}

export type Round = readonly { readonly tool: string; readonly word: string }[]

/**
 * A model without memory of its own: it looks at what was said, and makes the calls of the first round whose words are
 * not answered there. So a session is always resumed from its last state, whatever was lost.
 */
export function planModel(rounds: readonly Round[]): ReturnType<typeof scriptedModel> {
  return scriptedModel((request) => nextStep(request, rounds))
}

function nextStep({ chatHistory }: CompletionRequest, rounds: readonly Round[]): ScriptedStep {
  const answers = chatHistory.filter((message): message is AssistantMessage => message.role === 'assistant')
  const usage = { inputTokens: 10, outputTokens: 1, totalTokens: 11 }
  const known = new Set(chatHistory.flatMap(noted))
  const round = rounds.find((calls) => calls.some(({ word }) => !known.has(word)))
  if (round === undefined) return { text: 'All is noted.', usage }
  return {
    text: `Round ${rounds.indexOf(round)}.`,
    usage,
    toolCalls: round
      .filter(({ word }) => !known.has(word))
      .map(({ tool, word }, at) => ({ id: `${answers.length}-${at}-${word}`, name: tool, args: { word } })),
  }
}

function noted(message: Message): string[] {
  if (message.role !== 'tool') return []
  return message.content.flatMap(({ content }) => {
    const word = /noted (\w+)/.exec(JSON.stringify(content))?.[1]
    return word === undefined ? [] : [word]
  })
}
