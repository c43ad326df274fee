import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import { type ScriptedModel, type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import type { CompletionRequest, Message } from '../../src/tool/completion.js'
import { makeWorkspace, whenDone } from './open-session.js'

/** What is asked of the model: the last words of a user, and how often it has answered since. */
export type Asked = {
  readonly prompt: string
  /** Answers since the prompt. */
  readonly turn: number
  readonly request: CompletionRequest
  /** What the tools put out since. */
  readonly results: readonly string[]
}

/** A model that parent and children share: it answers by what it was asked. */
export function byPrompt(
  answer: (asked: Asked) => ScriptedStep | string | Promise<ScriptedStep | string>,
): ScriptedModel {
  return scriptedModel((request) => {
    const { chatHistory } = request
    const at = chatHistory.findLastIndex(({ role }) => role === 'user')
    const since = chatHistory.slice(at + 1)
    const message = chatHistory[at]
    return answer({
      prompt: message === undefined ? '' : textOf(message),
      turn: since.filter(({ role }) => role === 'assistant').length,
      request,
      results: since.flatMap((one) =>
        one.role === 'tool' ? one.content.map((part) => textOf({ role: 'tool', content: [part] })) : [],
      ),
    })
  })
}

export function textOf(message: Message): string {
  if (message.role === 'system') return message.content
  if (message.role === 'tool')
    return message.content
      .flatMap(({ content }) => content.flatMap((part) => (part.type === 'text' ? [part.text] : [])))
      .join('\n')
  return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

export function call(name: string, args: Record<string, unknown>, id?: string): ScriptedStep {
  return { toolCalls: [{ name, args: args as never, ...(id !== undefined && { id }) }] }
}

export type Opened = {
  readonly agent: Agent
  readonly session: Session
  readonly root: string
  readonly userDir: string
}

export async function open(
  options: SessionOptions & Readonly<Record<string, unknown>>,
  files: Readonly<Record<string, string>> = {},
): Promise<Opened> {
  const { root, userDir } = await makeWorkspace(files)
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  return { agent, session: agent.session(root, { sandbox: 'off', ...options }), root, userDir }
}
