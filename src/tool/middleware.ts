import type { CompletionRequest, CompletionResponse } from './completion.js'
import { type ToolResultContent, toolResultContentToText } from './content.js'
import type { AnyTool } from './contract.js'
import type { JsonValue } from './json.js'

export type CompletionRequestMiddlewareArgs = {
  turn: number
  request: CompletionRequest
  originalRequest: CompletionRequest
}
export type CompletionRequestMiddlewareResult = { request: CompletionRequest } | undefined | void

export type CompletionResponseMiddlewareArgs = {
  turn: number
  request: CompletionRequest
  response: CompletionResponse
  originalResponse: CompletionResponse
}
export type CompletionResponseMiddlewareResult = { response: CompletionResponse } | undefined | void

export type ToolInputMiddlewareArgs = {
  toolName: string
  args: string
  originalArgs: string
  turn: number
  toolCallId?: string
  internalCallId: string
}
export type ToolInputMiddlewareResult = { args: JsonValue | string } | undefined | void

export type ToolResultMiddlewareArgs = {
  toolName: string
  /** The arguments the tool got, as JSON text. */
  args: string
  result: string
  originalResult: string
  /** The blocks of a multimodal result, while nothing has replaced them by text. */
  structuredResult?: ToolResultContent[]
  originalStructuredResult?: ToolResultContent[]
  turn: number
  toolCallId?: string
  internalCallId: string
}
export type ToolOutputMiddlewareArgs = ToolResultMiddlewareArgs
export type ToolOutputMiddlewareResult =
  | string
  | { result?: string; structuredResult?: ToolResultContent[] }
  | undefined
  | void

type Awaitable<Value> = Value | Promise<Value>

/**
 * Four points at which a run's data may be replaced. Returning nothing keeps the current value; a replacement is what later
 * middleware and the run see. What middleware throws ends the run.
 */
export interface AgentMiddleware {
  onCompletionRequest?(args: CompletionRequestMiddlewareArgs): Awaitable<CompletionRequestMiddlewareResult>
  onCompletionResponse?(args: CompletionResponseMiddlewareArgs): Awaitable<CompletionResponseMiddlewareResult>
  onToolInput?(args: ToolInputMiddlewareArgs): Awaitable<ToolInputMiddlewareResult>
  onToolOutput?(args: ToolOutputMiddlewareArgs): Awaitable<ToolOutputMiddlewareResult>
  /** @deprecated Use onToolOutput instead. */
  onResult?(args: ToolResultMiddlewareArgs): string | undefined | Promise<string | undefined>
}

/** @deprecated Use AgentMiddleware instead. */
export type ToolMiddleware = AgentMiddleware

/** Gives the middleware its type; it is not changed. */
export function createMiddleware(middleware: AgentMiddleware): AgentMiddleware {
  return middleware
}

/** @deprecated Use createMiddleware instead. */
export function createToolMiddleware(middleware: ToolMiddleware): ToolMiddleware {
  return middleware
}

/** One stack from several levels, in the order in which they run: the agent's before the request's. */
export function composeMiddleware(
  ...levels: readonly (readonly AgentMiddleware[] | undefined)[]
): AgentMiddleware[] {
  return levels.flatMap((level) => level ?? [])
}

/** The request that goes to the model, after every `onCompletionRequest` in order. */
export async function applyCompletionRequest(
  stack: readonly AgentMiddleware[],
  args: { turn: number; request: CompletionRequest },
): Promise<CompletionRequest> {
  let request = args.request
  for (const middleware of stack) {
    const replaced = await middleware.onCompletionRequest?.({
      turn: args.turn,
      request,
      originalRequest: args.request,
    })
    if (replaced?.request) request = replaced.request
  }
  return request
}

/** The response that the run reads, after every `onCompletionResponse` in order. */
export async function applyCompletionResponse(
  stack: readonly AgentMiddleware[],
  args: { turn: number; request: CompletionRequest; response: CompletionResponse },
): Promise<CompletionResponse> {
  let response = args.response
  for (const middleware of stack) {
    const replaced = await middleware.onCompletionResponse?.({
      ...args,
      response,
      originalResponse: args.response,
    })
    if (replaced?.response) response = replaced.response
  }
  return response
}

/** The JSON text of the arguments that the tool gets, after every `onToolInput` in order. */
export async function applyToolInput(
  stack: readonly AgentMiddleware[],
  args: Omit<ToolInputMiddlewareArgs, 'originalArgs'>,
): Promise<string> {
  let text = args.args
  for (const middleware of stack) {
    const replaced = await middleware.onToolInput?.({ ...args, args: text, originalArgs: args.args })
    if (replaced && replaced.args !== undefined)
      text = typeof replaced.args === 'string' ? replaced.args : JSON.stringify(replaced.args)
  }
  return text
}

/** What a tool put out, as text and, when it is multimodal, as blocks. */
export type ToolOutcomeContent = { readonly result: string; readonly structuredResult?: ToolResultContent[] }

/**
 * The result that goes to the model, after every `onToolOutput` (and the deprecated `onResult` of the same middleware) in order.
 * Text in place of blocks drops the blocks; given both, the blocks count. A tool marked with {@link withoutOutputMiddleware} is seen
 * only by middleware marked with {@link forEveryOutput}.
 */
export async function applyToolOutput(
  stack: readonly AgentMiddleware[],
  args: Omit<ToolOutputMiddlewareArgs, 'originalResult' | 'originalStructuredResult'>,
  tool?: AnyTool,
): Promise<ToolOutcomeContent> {
  const { structuredResult: originalStructuredResult, ...call } = args
  const original = outcome(call.result, originalStructuredResult)
  const isExcluded = tool !== undefined && isWithoutOutputMiddleware(tool)
  let current = original
  for (const middleware of stack) {
    if (isExcluded && !(everyOutput in middleware)) continue
    const seen = (): ToolOutputMiddlewareArgs => ({
      ...call,
      ...current,
      originalResult: original.result,
      ...(originalStructuredResult === undefined ? {} : { originalStructuredResult }),
    })
    current = replacedBy(await middleware.onToolOutput?.(seen()), current)
    current = replacedBy(await middleware.onResult?.(seen()), current)
  }
  return current
}

function replacedBy(
  replacement: ToolOutputMiddlewareResult,
  current: ToolOutcomeContent,
): ToolOutcomeContent {
  if (replacement === undefined || replacement === null) return current
  if (typeof replacement === 'string') return outcome(replacement)
  if (replacement.structuredResult !== undefined)
    return outcome(toolResultContentToText(replacement.structuredResult), replacement.structuredResult)
  return replacement.result === undefined ? current : outcome(replacement.result)
}

function outcome(result: string, structuredResult?: ToolResultContent[]): ToolOutcomeContent {
  return structuredResult === undefined ? { result } : { result, structuredResult }
}

const everyOutput = Symbol('everyOutput')

/** Marks middleware of the runtime itself that must see every result, such as the one that removes secrets. */
export function forEveryOutput(middleware: AgentMiddleware): AgentMiddleware {
  return Object.defineProperty(middleware, everyOutput, { value: true })
}

const excluded = Symbol.for('capstan.withoutOutputMiddleware')

/** Marks a tool whose results no output middleware of a host sees, such as those that load skills. The mark stays with the tool. */
export function withoutOutputMiddleware<AnyKind extends AnyTool>(tool: AnyKind): AnyKind {
  return Object.defineProperty(tool, excluded, { value: true })
}

/** Whether a tool, or the one it was made from, is marked so. */
export function isWithoutOutputMiddleware(tool: AnyTool): boolean {
  return excluded in tool
}
