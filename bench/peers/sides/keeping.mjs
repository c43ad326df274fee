// Sessions stored by other libraries.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { bytesBelow, keptSide, output } from '../../ours/kept.mjs'
import { load } from '../contract.mjs'

const inMemory = 'it is in memory alone'
const call = (/** @type {number} */ n) => ({ id: `call_${n}`, args: { file_path: `src/file${n}.ts` } })
const saying = (/** @type {number} */ n) => `I will look at file ${n}`

/** @type {Record<string, import('../sides.mjs').Side>} */
export const sides = {
  pi: {
    title: 'pi, SessionManager (files)',
    async open({ place }) {
      const { SessionManager } = await load('@earendil-works/pi-coding-agent')
      const usage = {
        input: 1,
        output: 1,
        cacheRead: 0,
        cacheWrite: 0,
        totalTokens: 2,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
      }
      /** @type {Map<string, string>} */
      const paths = new Map()
      return keptSide({
        make(id) {
          const session = SessionManager.create(place, join(place, id))
          const path = session.getSessionFile()
          paths.set(id, path)
          const round = (/** @type {number} */ n) => {
            const { id: callId, args } = call(n)
            session.appendMessage({
              role: 'assistant',
              content: [
                { type: 'text', text: saying(n) },
                { type: 'toolCall', id: callId, name: 'read', arguments: args },
              ],
              api: 'openai-completions',
              provider: 'bench',
              model: 'm',
              usage,
              stopReason: 'toolUse',
              timestamp: n,
            })
            session.appendMessage({
              role: 'toolResult',
              toolCallId: callId,
              toolName: 'read',
              content: [{ type: 'text', text: output }],
              isError: false,
              timestamp: n,
            })
          }
          return { append: round, bytes: () => statSync(path).size }
        },
        reopen: (id) => SessionManager.open(paths.get(id)).buildSessionContext().messages.length,
      })
    },
  },
  strands: {
    title: '@strands-agents/sdk, SessionManager (files)',
    async open({ place }) {
      const [
        { Agent, Message, SessionManager, TextBlock, ToolResultBlock, ToolUseBlock },
        { LocalFileStorage },
      ] = await Promise.all(['@strands-agents/sdk', '@strands-agents/sdk/storage'].map(load))
      const open = (/** @type {string} */ id) => {
        const manager = new SessionManager({ sessionId: id, storage: new LocalFileStorage(join(place, id)) })
        return { manager, agent: new Agent({ id: 'bench', printer: false }) }
      }
      const round = (/** @type {number} */ n) => {
        const { id, args } = call(n)
        const asked = [
          new TextBlock(saying(n)),
          new ToolUseBlock({ name: 'read', toolUseId: id, input: args }),
        ]
        const result = new ToolResultBlock({
          toolUseId: id,
          status: 'success',
          content: [new TextBlock(output)],
        })
        return [
          new Message({ role: 'assistant', content: asked }),
          new Message({ role: 'user', content: [result] }),
        ]
      }
      const save = (/** @type {any} */ { manager, agent }) =>
        manager.saveSnapshot({ target: agent, isLatest: true })
      return keptSide({
        async make(id) {
          const session = open(id)
          let written = 0
          return {
            async append(n) {
              session.agent.messages.push(...round(n))
              await save(session)
              // This library rewrites everything.
              written += bytesBelow(join(place, id))
            },
            async appendMany(from, count) {
              for (let n = 0; n < count; n++) session.agent.messages.push(...round(from + n))
              await save(session)
            },
            bytes: () => written,
          }
        },
        async reopen(id) {
          const { manager, agent } = open(id)
          await manager.restoreSnapshot({ target: agent })
          return agent.messages.length
        },
      })
    },
  },
  mastra: {
    title: '@mastra/libsql (files)',
    async open({ place }) {
      const { LibSQLStore } = await load('@mastra/libsql')
      const url = `file:${join(place, 'mastra.db')}`
      const open = async () => {
        const store = new LibSQLStore({ id: 'bench', url })
        await store.init()
        return store.getStore('memory')
      }
      const round = (/** @type {string} */ threadId, /** @type {number} */ n) => {
        const { id, args } = call(n)
        const shared = {
          threadId,
          resourceId: 'one',
          role: 'assistant',
          createdAt: new Date(1_700_000_000_000 + n),
        }
        const toolInvocation = { state: 'result', toolCallId: id, toolName: 'read', args, result: output }
        return [
          {
            ...shared,
            id: `${threadId}-${n}a`,
            content: { format: 2, parts: [{ type: 'text', text: saying(n) }] },
          },
          {
            ...shared,
            id: `${threadId}-${n}b`,
            content: { format: 2, parts: [{ type: 'tool-invocation', toolInvocation }] },
          },
        ]
      }
      const memory = await open()
      return keptSide({
        async make(id) {
          const at = new Date()
          await memory.saveThread({
            thread: { id, resourceId: 'one', title: id, createdAt: at, updatedAt: at, metadata: {} },
          })
          return {
            append: (n) => memory.saveMessages({ messages: round(id, n) }),
            async appendMany(from, count) {
              for (let n = 0; n < count; n += 100) {
                const some = Array.from({ length: Math.min(100, count - n) }, (_, at) =>
                  round(id, from + n + at),
                )
                await memory.saveMessages({ messages: some.flat() })
              }
            },
          }
        },
        async reopen(id) {
          const { messages } = await (await open()).listMessages({ threadId: id, perPage: false })
          return messages.length
        },
      })
    },
  },
  langgraph: {
    title: 'LangGraph, MemorySaver (memory)',
    cannot: { reopen: `${inMemory}; its SQLite saver needs a native build` },
    async open() {
      const [{ MemorySaver, MessagesAnnotation, StateGraph }, { AIMessage, ToolMessage }] = await Promise.all(
        ['@langchain/langgraph', '@langchain/core/messages'].map(load),
      )
      const saver = new MemorySaver()
      const graph = new StateGraph(MessagesAnnotation)
        .addNode('work', () => ({}))
        .addEdge('__start__', 'work')
        .compile({ checkpointer: saver })
      const round = (/** @type {number} */ n) => {
        const { id, args } = call(n)
        return [
          new AIMessage({ id: `${n}a`, content: saying(n), tool_calls: [{ id, name: 'read', args }] }),
          new ToolMessage({ id: `${n}b`, content: output, tool_call_id: id }),
        ]
      }
      const side = keptSide({
        make(id) {
          const config = { configurable: { thread_id: id } }
          const add = (/** @type {unknown[]} */ messages) => graph.updateState(config, { messages }, 'work')
          return {
            append: (n) => add(round(n)),
            appendMany: (from, count) =>
              add(Array.from({ length: count }, (_, at) => round(from + at)).flat()),
            bytes: () => storedIn(saver.storage[id]),
          }
        },
      })
      // Each round stores the whole conversation again.
      return { ...side, slow: 10 }
    },
  },
  'openai-agents': {
    title: '@openai/agents, MemorySession (memory)',
    cannot: { reopen: `${inMemory}; the other session is the provider’s` },
    async open() {
      const { MemorySession } = await load('@openai/agents')
      const round = (/** @type {number} */ n) => {
        const { id, args } = call(n)
        return [
          { role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: saying(n) }] },
          {
            type: 'function_call',
            callId: id,
            name: 'read',
            arguments: JSON.stringify(args),
            status: 'completed',
          },
          {
            type: 'function_call_result',
            callId: id,
            name: 'read',
            status: 'completed',
            output: { type: 'text', text: output },
          },
        ]
      }
      return keptSide({
        make(id) {
          const session = new MemorySession({ sessionId: id })
          return { append: (n) => session.addItems(round(n)) }
        },
      })
    },
  },
  voltagent: {
    title: '@voltagent/core, InMemoryStorageAdapter (memory)',
    cannot: { reopen: inMemory },
    async open() {
      const { InMemoryStorageAdapter } = await load('@voltagent/core')
      const storage = new InMemoryStorageAdapter()
      return keptSide({
        async make(id) {
          await storage.createConversation({ id, userId: 'one', resourceId: 'one', title: id, metadata: {} })
          return {
            append: (n) => {
              const { id: toolCallId, args: input } = call(n)
              const tool = { type: 'tool-read', toolCallId, state: 'output-available', input, output }
              const said = [
                { id: `${n}a`, role: 'assistant', parts: [{ type: 'text', text: saying(n) }] },
                { id: `${n}b`, role: 'assistant', parts: [tool] },
              ]
              return storage.addMessages(said, 'one', id)
            },
          }
        },
      })
    },
  },
  adk: {
    title: '@google/adk, InMemorySessionService (memory)',
    cannot: { reopen: `${inMemory}; its database service needs a native driver` },
    async open() {
      const { InMemorySessionService, createEvent } = await load('@google/adk')
      const service = new InMemorySessionService()
      return keptSide({
        async make(id) {
          const session = await service.createSession({ appName: 'bench', userId: 'one', sessionId: id })
          const add = (/** @type {string} */ author, /** @type {unknown[]} */ parts) =>
            service.appendEvent({
              session,
              event: createEvent({ author, content: { role: author === 'user' ? 'user' : 'model', parts } }),
            })
          return {
            async append(n) {
              const { id: callId, args } = call(n)
              await add('bench', [{ text: saying(n) }, { functionCall: { id: callId, name: 'read', args } }])
              await add('user', [{ functionResponse: { id: callId, name: 'read', response: { output } } }])
            },
          }
        },
      })
    },
  },
  ai: { title: 'ai', cannot: 'it keeps no sessions' },
  tanstack: { title: '@tanstack/ai', cannot: 'it keeps no sessions' },
}

/** Bytes of all checkpoints. @param {Record<string, Record<string, readonly unknown[]>> | undefined} byNamespace */
function storedIn(byNamespace) {
  let sum = 0
  for (const checkpoints of Object.values(byNamespace ?? {}))
    for (const parts of Object.values(checkpoints))
      for (const part of parts) if (part instanceof Uint8Array) sum += part.length
  return sum
}
