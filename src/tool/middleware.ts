import type { CompletionRequest, CompletionResponse } from './completion.js'
import { type ToolResultContent, toolResultContentToText } from './content.js'
import type { AnyTool } from './contract.js'
import type { JsonValue } from './json.js'

/** The arguments of `onCompletionRequest`. */
export type CompletionRequestMiddlewareArgs = {
  turn: number
  request: CompletionRequest
  originalRequest: CompletionRequest
}
/** The result of `onCompletionRequest`: a replacement, or nothing. */
export type CompletionRequestMiddlewareResult = { request: CompletionRequest } | undefined | void

/** The arguments of `onCompletionResponse`. */
export type CompletionResponseMiddlewareArgs = {
  turn: number
  request: CompletionRequest
  response: CompletionResponse
  originalResponse: CompletionResponse
}
/** The result of `onCompletionResponse`: a replacement, or nothing. */
export type CompletionResponseMiddlewareResult = { response: CompletionResponse } | undefined | void

/** The arguments of `onToolInput`. */
export type ToolInputMiddlewareArgs = {
  toolName: string
  args: string
  originalArgs: string
  turn: number
  toolCallId?: string
  internalCallId: string
}
/** The result of `onToolInput`: a replacement, or nothing. */
export type ToolInputMiddlewareResult = { args: JsonValue | string } | undefined | void

/** The arguments of the deprecated `onResult`. */
export type ToolResultMiddlewareArgs = {
  toolName: string
  /** The arguments that the tool got, as JSON text. */
  args: string
  result: string
  originalResult: string
  /** The blocks of a multimodal result, unless middleware has replaced them by text. */
  structuredResult?: ToolResultContent[]
  originalStructuredResult?: ToolResultContent[] | undefined
  turn: number
  toolCallId?: string
  internalCallId: string
}
/** The arguments of `onToolOutput`. */
export type ToolOutputMiddlewareArgs = ToolResultMiddlewareArgs
/** The result of `onToolOutput`: a replacement, or nothing. */
export type ToolOutputMiddlewareResult =
  | string
  | { result?: string; structuredResult?: ToolResultContent[] }
  | undefined
  | void

type Awaitable<Value> = Value | Promise<Value>

/**
 * Four points at which a host can replace a run's data. Returning nothing keeps the current value; later middleware
 * and the run see a replacement. An error that middleware throws ends the run.
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

/** Returns the middleware unchanged, with its type. */
export function createMiddleware(middleware: AgentMiddleware): AgentMiddleware {
  return middleware
}

/** @deprecated Use createMiddleware instead. */
export function createToolMiddleware(middleware: ToolMiddleware): ToolMiddleware {
  return middleware
}

/** Joins the middleware of several levels in the order in which they run: the agent's before the request's. */
export function composeMiddleware(
  ...levels: readonly (readonly AgentMiddleware[] | undefined)[]
): AgentMiddleware[] {
  return levels.flatMap((level) => level ?? [])
}

/** Returns the request for the model, after every `onCompletionRequest` in order. */
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

/** Returns the response that the run reads, after every `onCompletionResponse` in order. */
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

/** Returns the JSON text of the tool's arguments, after every `onToolInput` in order. */
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

/** A tool's output as text and, if it is multimodal, as blocks. */
export type ToolOutcomeContent = { readonly result: string; readonly structuredResult?: ToolResultContent[] }

/**
 * Returns the result for the model, after every `onToolOutput` (and the deprecated `onResult` of the same middleware)
 * in order. Text in place of blocks drops the blocks; if both are returned, the blocks are used. Only middleware
 * marked with {@link forEveryOutput} sees a tool marked with {@link withoutOutputMiddleware}.
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
      originalStructuredResult,
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

/** Marks middleware of the runtime that must see every result, such as the middleware that removes secrets. */
export function forEveryOutput(middleware: AgentMiddleware): AgentMiddleware {
  return Object.defineProperty(middleware, everyOutput, { value: true })
}

const excluded = Symbol.for('capstan.withoutOutputMiddleware')

/**
 * Marks a tool whose results are hidden from a host's output middleware, such as tools that load skills. Wrapping a
 * tool keeps the mark.
 */
export function withoutOutputMiddleware<AnyKind extends AnyTool>(tool: AnyKind): AnyKind {
  return Object.defineProperty(tool, excluded, { value: true })
}

/** Returns whether a tool, or the tool it was made from, has this mark. */
export function isWithoutOutputMiddleware(tool: AnyTool): boolean {
  return excluded in tool
}
