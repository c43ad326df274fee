import { resolve } from 'node:path'
import type { AgentEvent } from '../loop/events.js'
import type { ContentBlock, HistoryMessage } from '../session/history-blocks.js'
import type { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'
import { withToolFacts } from '../session/tool-facts.js'
import { isRecord } from '../tool/json.js'
import { planOf, type UpdateWriter } from './update-writer.js'
import type { SessionUpdate, WireToolContent } from './wire.js'

/** Returns the conversation of a session as the updates that were sent when it was live. */
export function replay(session: Session, writer: UpdateWriter): SessionUpdate[] {
  const updates: SessionUpdate[] = []
  const kernel = kernelOf(session)
  const show = (event: AgentEvent): void => void updates.push(...writer.write(withToolFacts(event, kernel)))
  const changes = new Map<string, WireToolContent>()
  for (const { role, content } of session.history()) {
    writer.newMessage()
    for (const block of content) {
      const change = changeIn(block, session.workspace)
      if (change !== undefined && block.id !== undefined) changes.set(block.id, change)
      for (const event of eventsOf(role, block)) show(event)
      if (role === 'user' && block.type === 'image' && block.data !== undefined)
        updates.push({
          sessionUpdate: 'user_message_chunk',
          content: { type: 'image', data: block.data, mimeType: block.mediaType ?? 'image/png' },
        })
    }
  }
  updates.push(...writer.endOpenCalls('failed'))
  const plan = session.todos()
  return [...updates.map((update) => withChange(update, changes)), ...(plan.length > 0 ? [planOf(plan)] : [])]
}

function eventsOf(role: HistoryMessage['role'], block: ContentBlock): AgentEvent[] {
  const { type, text = '', id = '', name = '' } = block
  switch (type) {
    case 'text':
      if (text === '' || role === 'system') return []
      return [role === 'user' ? { type: 'steered', prompt: text } : { type: 'text_delta', text }]
    case 'reasoning':
      return text === '' ? [] : [{ type: 'reasoning_delta', text }]
    case 'tool_use':
      return [
        { type: 'tool_start', toolId: id, toolName: name },
        {
          type: 'tool_execution_start',
          toolId: id,
          toolName: name,
          args: JSON.stringify(block.input ?? {}),
        },
      ]
    case 'tool_result': {
      const isError = block.isError === true
      return [
        {
          type: 'tool_end',
          toolId: block.toolUseId ?? id,
          toolName: name,
          toolOutput: block.resultContent ?? '',
          exitCode: isError ? 1 : 0,
          isError,
          metadata: { duration_ms: 0 },
        },
      ]
    }
    case 'document':
      return role === 'user' ? [{ type: 'steered', prompt: `[${name || 'document'}]` }] : []
    default:
      return []
  }
}

/** Returns what an edit replaced. The surrounding text of the file is not in the history. */
function changeIn({ type, name, input }: ContentBlock, root: string): WireToolContent | undefined {
  if (type !== 'tool_use' || name !== 'edit' || !isRecord(input)) return undefined
  const { file_path: path, old_string: before, new_string: after } = input
  if (typeof path !== 'string' || typeof before !== 'string' || typeof after !== 'string') return undefined
  return { type: 'diff', path: resolve(root, path), oldText: before, newText: after }
}

function withChange(update: SessionUpdate, changes: ReadonlyMap<string, WireToolContent>): SessionUpdate {
  if (update.sessionUpdate !== 'tool_call_update' || update.status !== 'completed') return update
  const change = changes.get(update.toolCallId)
  return change === undefined ? update : { ...update, content: [change] }
}
