import { resolve } from 'node:path'
import { formatRule } from '../authority/rule.js'
import type { AskAnswer, AskRequest } from '../loop/ask.js'
import { type FileEdit, previewEdits } from '../session/history/preview-edits.js'
import { messageOf } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import type { AcpClient } from './acp-client.js'
import { oneLine } from './call-title.js'
import { textContent } from './update-writer.js'
import type { WireToolCall, WireToolContent } from './wire.js'

export type PermissionQuestion = {
  readonly client: AcpClient
  readonly sessionId: string
  /** The call as it was sent to the client. */
  readonly toolCall: WireToolCall
  readonly request: AskRequest
  /** The real path of the workspace. */
  readonly root: string
  /** Aborted when the call no longer waits for the answer. */
  readonly signal: AbortSignal
}

/**
 * Asks the client about a call. `cancelled`: the user ends the turn. Any answer other than a clear yes counts as no.
 */
export async function requestPermission(question: PermissionQuestion): Promise<AskAnswer | 'cancelled'> {
  const { client, sessionId, toolCall, request, root, signal } = question
  const content = await contentOf(request, root)
  const options = optionsFor(request)
  try {
    const params = { sessionId, toolCall: { ...toolCall, status: 'pending', content }, options }
    const answer = await client.request('session/request_permission', params, signal)
    const outcome = isRecord(answer) && isRecord(answer['outcome']) ? answer['outcome'] : {}
    if (outcome['outcome'] === 'cancelled') return 'cancelled'
    const chosen = options.find(({ optionId }) => optionId === outcome['optionId'])
    return { decision: outcome['outcome'] === 'selected' && chosen ? chosen.optionId : 'reject' }
  } catch (error) {
    if (signal.aborted) return 'cancelled'
    const message = `The client could not be asked about this call: ${messageOf(error)}`
    return { decision: 'reject', message, automatic: true }
  }
}

type Option = {
  readonly optionId: 'once' | 'always' | 'reject'
  readonly name: string
  readonly kind: 'allow_once' | 'allow_always' | 'reject_once'
}

/**
 * The name of the second option contains the exact rule, because that is what the user approves. A rule that cannot
 * be shown exactly in one line is not offered.
 */
function optionsFor({ suggestion = [] }: AskRequest): readonly Option[] {
  const rules = suggestion.map(formatRule).join(', ')
  const isShowable = rules !== '' && oneLine(rules) === rules
  return [
    { optionId: 'once', name: 'Allow once', kind: 'allow_once' },
    ...(isShowable
      ? [{ optionId: 'always', name: `Always allow ${rules}`, kind: 'allow_always' } as const]
      : []),
    { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
  ]
}

/** Returns what the call would change, and why approval is required. */
async function contentOf(request: AskRequest, root: string): Promise<WireToolContent[]> {
  const preview = await previewEdits(request.toolName, request.args, root)
  const edits = preview !== undefined && 'edits' in preview ? preview.edits : []
  const failure = preview !== undefined && 'whyNot' in preview ? [`It would fail: ${preview.whyNot}`] : []
  const agent = request.run?.agentId
  const by = agent === undefined || agent === 'capstan' ? [] : [`Asked by the agent ${agent}.`]
  const reasons = [...by, ...request.reasons, ...request.notes, ...failure].map(oneLine)
  return [
    ...edits.map((edit) => diffContent(edit, root)),
    ...(reasons.length === 0 ? [] : [textContent(reasons.join('\n'))]),
  ]
}

export function diffContent({ path, movedTo, before, after }: FileEdit, root: string): WireToolContent {
  return {
    type: 'diff',
    path: resolve(root, movedTo ?? path),
    oldText: before ?? null,
    newText: after ?? '',
  }
}
