import type { CallRecord, GateParts, HookVerdict } from '../../loop/gate-parts.js'
import { blocksOf, modelText } from '../../loop/tool-message.js'
import type { CompletionResponse, CompletionUsage, Message } from '../../tool/completion.js'
import { ToolCallError } from '../../tool/errors.js'
import type { AgentMiddleware } from '../../tool/middleware.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import {
  type AgentHook,
  type HookAction,
  PromptCancelledError,
  runControl,
  type ToolCallHookAction,
  toolCallControl,
} from './hook.js'

/**
 * The points of a run at which its hook is called. Each throws a {@link PromptCancelledError} when the hook cancels.
 */
export type HookedRun = {
  /** Sees requests before all other middleware. */
  readonly first: readonly AgentMiddleware[]
  /** Sees responses after all other middleware. */
  readonly last: readonly AgentMiddleware[]
  readonly before: GateParts['before']
  /** `toolCallId` is the id of the call for hooks. */
  recorded(record: CallRecord, toolCallId: string | undefined): Promise<void>
  /** `asked` are the messages of the prompt; the last one is not in the conversation yet. */
  started(asked: readonly Message[], maxTurns: number): Promise<void>
  turnEnded(turn: number, response: CompletionResponse): Promise<void>
  completionFailed(error: unknown): Promise<void>
  ended(result: { readonly output: string; readonly usage: CompletionUsage }): Promise<void>
  failed(error: unknown, usage: CompletionUsage): Promise<void>
}

type RunView = {
  /** The conversation so far. */
  conversation(): readonly Message[]
  /** The part of the conversation that belongs to this run. */
  own(): readonly Message[]
}

/** Connects a hook to the existing points of middleware and gate. */
export function hookRun(hook: AgentHook, { conversation, own }: RunView): HookedRun {
  const run = runControl
  let cancelled = false
  const cancel = (reason: string): never => {
    cancelled = true
    throw new PromptCancelledError(reason, [...conversation()])
  }
  const obey = async (asked: unknown): Promise<void> => {
    const action = (await asked) as HookAction | undefined
    if (action?.type === 'terminate') cancel(action.reason)
  }
  const asked = (): { prompt: Message; history: Message[] } => {
    const messages = conversation()
    return { prompt: messages.at(-1) ?? nothing, history: messages.slice(0, -1) }
  }

  return {
    first:
      hook.onTurnStart === undefined && hook.onCompletionCall === undefined
        ? []
        : [
            {
              async onCompletionRequest({ turn }) {
                await obey(hook.onTurnStart?.({ ...asked(), turn, run }))
                await obey(hook.onCompletionCall?.({ ...asked(), run }))
              },
            },
          ],
    last:
      hook.onCompletionResponse === undefined
        ? []
        : [
            {
              onCompletionResponse: ({ response }) =>
                obey(hook.onCompletionResponse?.({ prompt: asked().prompt, response, run })),
            },
          ],
    before:
      hook.onToolCall &&
      (async ({ toolName, toolCallId, callId, rawArgs = '{}' }): Promise<HookVerdict> => {
        const action = (await hook.onToolCall?.({
          toolName,
          internalCallId: callId,
          args: rawArgs,
          ...omitUndefined({ toolCallId }),
          tool: toolCallControl,
        })) as ToolCallHookAction | undefined
        return verdictOf(action, cancel)
      }),
    async recorded({ toolName, callId, args, envelope }, toolCallId) {
      if (cancelled) return
      const call = { toolName, internalCallId: callId, args, ...omitUndefined({ toolCallId }) }
      if (envelope.type === 'error' && envelope.metadata['rejected'] !== true)
        await obey(hook.onToolError?.({ ...call, error: new ToolCallError(envelope.error_text), run }))
      const structuredResult = blocksOf(envelope)
      const result = modelText(envelope)
      await obey(
        hook.onToolResult?.({
          ...call,
          result,
          ...omitUndefined({ structuredResult }),
          run,
        }),
      )
    },
    started(given, maxTurns) {
      const prompt = given.at(-1) ?? nothing
      const before = conversation()
      const history = before.at(-1) === prompt ? before.slice(0, -1) : [...before]
      return obey(hook.onRunStart?.({ prompt, history, maxTurns, run }))
    },
    turnEnded: (turn, response) => obey(hook.onTurnEnd?.({ turn, response, run })),
    completionFailed: (error) => obey(hook.onCompletionError?.({ prompt: asked().prompt, error, run })),
    ended: (result) => obey(hook.onRunEnd?.({ ...result, messages: [...own()], run })),
    async failed(error, usage) {
      await hook.onRunError?.({ error, usage, messages: [...own()], run })
    },
  }
}

const nothing: Message = { role: 'user', content: [] }

function verdictOf(action: ToolCallHookAction | undefined, cancel: (reason: string) => never): HookVerdict {
  switch (action?.type) {
    case undefined:
    case 'continue':
      return { action: 'continue' }
    case 'skip':
      return { action: 'skip', output: action.reason }
    case 'terminate':
      return cancel(action.reason)
    case 'approval_request': {
      const { reason, rejectMessage } = action
      return {
        action: 'continue',
        approval: {
          ...omitUndefined({ reason, rejectMessage }),
        },
      }
    }
  }
}
