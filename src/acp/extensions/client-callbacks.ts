import type { CommandHandler } from '../../commands/index.js'
import type { QuestionHandler } from '../../feature/question.js'
import type { HookOption } from '../../hooks/feature.js'
import type { HookHandler } from '../../hooks/index.js'
import type { AskHandler } from '../../loop/ask.js'
import type { BudgetDecision, BudgetGuard } from '../../loop/budget.js'
import { type AnyTool, type ToolCallContext, type ToolKind, toolKinds } from '../../tool/contract.js'
import { createJsonTool } from '../../tool/create-json-tool.js'
import { isRecord } from '../../tool/json.js'
import type { QuestionAnswers } from '../../tool/session-services.js'
import type { Params } from '../method.js'
import { invalidParams } from '../rpc-error.js'
import { listIn, recordIn, stringIn } from './params.js'

/** Calls a method of the client and waits for its answer. Aborting the signal cancels the request there. */
export type CallClient = (method: string, params: object, signal?: AbortSignal) => Promise<unknown>

/**
 * The callbacks of a client in one session: each function sends a request. The answers are validated by the same code
 * that validates those of functions in this process.
 */
export class ClientCallbacks {
  readonly #call: CallClient

  /** `session` is the number by which the client identifies the session. */
  constructor(call: CallClient, session: unknown) {
    this.#call = (method, params, signal) => call(`_capstan/${method}`, { session, ...params }, signal)
  }

  /** Creates a tool that runs in the client. Its calls pass the gate like those of every tool. */
  tool(definition: Params): AnyTool {
    const name = stringIn(definition, 'name')
    const { title, mustAsk, kind } = definition
    return createJsonTool<unknown>({
      name,
      description: stringIn(definition, 'description'),
      parameters: recordIn(definition, 'parameters'),
      requires: recordIn(definition, 'requires'),
      kind: kindOf(kind),
      idempotent: definition['idempotent'] === true,
      ...(typeof title === 'string' && { title }),
      ...(typeof mustAsk === 'string' && { mustAsk: () => mustAsk }),
      execute: (args, { signal, toolCallId, run, progress }: ToolCallContext) => {
        if (progress !== undefined && toolCallId !== undefined) this.#progress.set(toolCallId, progress)
        const done = (): void => void (toolCallId !== undefined && this.#progress.delete(toolCallId))
        const params = { name, args, callId: toolCallId, sessionId: run?.sessionId }
        return this.#call('tool/call', params, signal).then(answerIn).finally(done)
      },
    })
  }

  readonly #progress = new Map<string, (partial: unknown) => void>()

  /** Handles a partial result of a call that runs in the client. */
  progress(callId: string, partial: unknown): void {
    this.#progress.get(callId)?.(partial)
  }

  /** `methods` lists the methods that the client's guard has; the others allow. */
  budgetGuard(guard: Params): BudgetGuard {
    const methods = listIn(guard, 'methods')
    const { timeoutMs, onError } = guard
    const decide = (method: string, params: object): Promise<BudgetDecision> =>
      // The session's guard rejects invalid decisions.
      this.#call(`budget/${method}`, params).then(answerIn) as Promise<BudgetDecision>
    return {
      ...(methods.includes('checkBeforeLlm') && {
        checkBeforeLlm: (sessionId, estimatedTokens) =>
          decide('checkBeforeLlm', { sessionId, estimatedTokens }),
      }),
      ...(methods.includes('recordAfterLlm') && {
        recordAfterLlm: async (sessionId, usage) => {
          await this.#call('budget/recordAfterLlm', { sessionId, usage })
        },
      }),
      ...(methods.includes('checkBeforeTool') && {
        checkBeforeTool: (sessionId, toolName) => decide('checkBeforeTool', { sessionId, toolName }),
      }),
      ...(typeof timeoutMs === 'number' && { timeoutMs }),
      ...(onError === 'deny' && { onError }),
    }
  }

  readonly ask: AskHandler = async (request) => {
    const answer = answerIn(await this.#call('ask', { request }))
    const { decision, message } = isRecord(answer) ? answer : {}
    const said = typeof message === 'string' ? { message } : {}
    if (decision === 'once' || decision === 'session' || decision === 'always') return { decision, ...said }
    return { decision: 'reject', ...said }
  }

  readonly question: QuestionHandler = async (questions, from, call) =>
    // The tool that asks rejects invalid answers.
    answerIn(await this.#call('question', { questions, from }, call?.signal)) as QuestionAnswers

  hookHandler(id: string): HookHandler {
    return async (event, { signal, attempt }) =>
      // The session's hooks reject invalid answers.
      answerIn(await this.#call('hook', { id, event, attempt }, signal)) as never
  }

  hook(given: Params): HookOption {
    const id = stringIn(given, 'id')
    // The session validates the event, the matcher and the config when the hook is registered.
    return { ...given, handler: this.hookHandler(id) } as unknown as HookOption
  }

  command(name: string): CommandHandler {
    return async (args, context, { signal }) => {
      const answer = answerIn(await this.#call('command', { name, args, context }, signal))
      if (typeof answer !== 'string') throw new TypeError(`The command "${name}" did not return a string.`)
      return answer
    }
  }
}

/** Every answer of a client is in `value`, because `null` is also a valid answer. */
function answerIn(answer: unknown): unknown {
  return isRecord(answer) ? answer['value'] : undefined
}

function kindOf(kind: unknown): ToolKind {
  const known = toolKinds.find((one) => one === kind)
  if (known === undefined && kind !== undefined && kind !== null)
    throw invalidParams(`kind must be one of ${toolKinds.join(', ')}.`)
  return known ?? 'other'
}
