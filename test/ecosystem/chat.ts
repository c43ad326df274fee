import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { isRecord } from '../../src/tool/json.js'
import { installedPackages } from './install.js'

export type Part = {
  readonly type: string
  readonly text?: string
  readonly toolCallId?: string
  readonly state?: string
  readonly input?: unknown
  readonly output?: unknown
  readonly errorText?: string
  readonly approval?: { readonly id: string; readonly approved?: boolean }
}
export type ChatMessage = { readonly id: string; readonly role: string; readonly parts: Part[] }

/** The part of a chat of the AI SDK that the tests use. */
export type Chat = {
  readonly messages: ChatMessage[]
  readonly status: string
  readonly error: Error | undefined
  sendMessage(message: { text: string }): Promise<void>
  addToolApprovalResponse(answer: { id: string; approved: boolean; reason?: string }): Promise<void>
}

type AiPackage = {
  AbstractChat: new (init: Record<string, unknown>) => Chat
  DefaultChatTransport: new (init: { api: string }) => unknown
  lastAssistantMessageIsCompleteWithApprovalResponses: unknown
}

/**
 * Opens a chat of the package `ai` (or `ai-6`) at a URL, as `useChat` does; what React would keep is in plain fields.
 */
export async function openChat(name: string, api: string): Promise<Chat> {
  const folder = join(installedPackages, name)
  const { module, main } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const ai: AiPackage = await import(pathToFileURL(join(folder, module ?? main)).href)
  return new ai.AbstractChat({
    transport: new ai.DefaultChatTransport({ api }),
    sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses,
    state: new PlainState(),
  })
}

class PlainState {
  status = 'ready'
  error: Error | undefined
  messages: ChatMessage[] = []
  readonly snapshot = structuredClone

  pushMessage(message: ChatMessage): void {
    this.messages = [...this.messages, message]
  }

  popMessage(): void {
    this.messages = this.messages.slice(0, -1)
  }

  replaceMessage(index: number, message: ChatMessage): void {
    this.messages = this.messages.with(index, structuredClone(message))
  }
}

/** Serves a chat over HTTP on loopback until the test ends. Returns its URL. */
export async function serveChat(answer: (messages: ChatMessage[]) => Promise<Response>): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    try {
      const { status, headers, body } = await answer(await messagesOf(incoming))
      outgoing.writeHead(status, Object.fromEntries(headers))
      if (body !== null) await pipeline(Readable.fromWeb(body as never), outgoing)
    } catch (error) {
      outgoing.destroy(error instanceof Error ? error : undefined)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const address = server.address()
  if (!isRecord(address)) throw new Error('the server has no address')
  return `http://127.0.0.1:${address['port']}/`
}

async function messagesOf(incoming: IncomingMessage): Promise<ChatMessage[]> {
  const body: unknown = JSON.parse(Buffer.concat(await incoming.toArray()).toString())
  return isRecord(body) && Array.isArray(body['messages']) ? body['messages'] : []
}

/** Waits until no response is under way and the last message has what is expected. */
export async function settled(chat: Chat, holds: (message: ChatMessage) => boolean): Promise<ChatMessage> {
  await expect
    .poll(() => {
      if (chat.error !== undefined) throw chat.error
      const last = chat.messages.at(-1)
      return chat.status === 'ready' && last !== undefined && last.role === 'assistant' && holds(last)
    })
    .toBe(true)
  return chat.messages.at(-1) as ChatMessage
}

export function waitingIn({ parts }: ChatMessage): string[] {
  return parts.flatMap(({ state, approval }) =>
    state === 'approval-requested' && approval !== undefined ? [approval.id] : [],
  )
}

export function textOf({ parts }: ChatMessage): string {
  return parts.flatMap(({ type, text }) => (type === 'text' ? [text] : [])).join('')
}

/** State and output of each call. */
export function callsOf({ parts }: ChatMessage): Record<string, [state: string, output: unknown]> {
  return Object.fromEntries(
    parts.flatMap(({ toolCallId, state = '', output, errorText }) =>
      toolCallId === undefined ? [] : [[toolCallId, [state, output ?? errorText]]],
    ),
  )
}
