import type { HistoryMessage } from '../../src/session/history-blocks.js'
import { client } from './api.js'
import type { CallItem, Item } from './timeline.js'

/**
 * Reads the conversation that a session had before its first run, as entries of a timeline: a fork copies messages, and
 * no runs. Empty for other sessions.
 */
export async function readCopied(sessionId: string, signal: AbortSignal): Promise<readonly Item[]> {
  const params = { sessionId }
  const { messages } = await client.call('listMessages', { params }, signal)
  const own = messages.findIndex(({ runId }) => runId !== undefined)
  const count = own < 0 ? messages.length : own
  if (count === 0) return []
  const { history } = await client.call('getHistory', { params }, signal)
  // The model of a session that was compacted reads a summary in place of its messages.
  const isWhole = history.length === messages.length
  const items = isWhole
    ? entriesOf(history.slice(0, count) as HistoryMessage[])
    : messages.slice(0, count).flatMap(({ role, text, id }): Item[] => [textItem(role, text, id)])
  return [{ kind: 'copied', key: 'copied' }, ...items]
}

function entriesOf(messages: readonly HistoryMessage[]): Item[] {
  const items: Item[] = []
  const calls = new Map<string, CallItem>()
  for (const [at, { role, content }] of messages.entries())
    for (const [index, block] of content.entries()) {
      const key = `copied:${at}:${index}`
      const { type, text = '', id = '', name = '', input = {}, toolUseId = '', resultContent } = block
      if (type === 'text') items.push(textItem(role, text, key))
      else if (type === 'tool_use') {
        const call = callItem(id, name, JSON.stringify(input), key)
        calls.set(id, call)
        items.push(call)
      } else if (type === 'tool_result') {
        const call = calls.get(toolUseId)
        if (call !== undefined && resultContent !== undefined) call.output = resultContent
      }
    }
  return items
}

function textItem(role: string, text: string, key: string): Item {
  return { kind: role === 'user' ? 'prompt' : 'text', key, text, atMs: undefined }
}

function callItem(toolId: string, toolName: string, args: string, key: string): CallItem {
  return {
    ...{ kind: 'call', key, runId: '', toolId, toolName, args, output: '', startedAtMs: 0, isCopied: true },
  }
}
