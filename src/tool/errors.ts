import { nearestNames, quoteNames } from './nearest.js'

const markerPrefix = 'capstan.error.'

/**
 * The base class of every error that Capstan throws on purpose. `code` is stable, for programs; the message is for
 * people. A subclass names its codes: `class QueueError extends CapstanError<QueueErrorCode> {}`.
 *
 * `instanceof` compares a marker from the global symbol registry, so it also recognises an error made by another copy
 * of this package. Two versions in one dependency tree are common.
 */
export class CapstanError<Code extends string = string> extends Error {
  readonly code: Code

  constructor(code: Code, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    const marker = markers.get(this)
    if (marker === undefined) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && carries(value, marker)
  }
}

const markers = new WeakMap<object, symbol>()

/** A thrown value can be a proxy that throws when it is read; such a value is not an error of this package. */
function carries(value: object, marker: symbol): boolean {
  try {
    return marker in value
  } catch {
    return false
  }
}

/** Makes `instanceof` work across copies of this package. Classes without a mark have the ordinary `instanceof`. */
export function markErrorClass(errorClass: { readonly prototype: object }, name: string): void {
  const marker = Symbol.for(markerPrefix + name)
  markers.set(errorClass, marker)
  Object.defineProperty(errorClass.prototype, marker, { value: true })
  Object.defineProperty(errorClass.prototype, 'name', { value: name, configurable: true, writable: true })
}

/**
 * Thrown when a tool threw, or when its arguments or output did not match its schema. The original error is in `cause`.
 */
export class ToolCallError extends CapstanError {
  constructor(message: string, cause?: unknown) {
    super('tool_call_failed', message, cause === undefined ? undefined : { cause })
  }
}

/** Thrown when the tool set has no tool with the name. */
export class ToolNotFoundError extends CapstanError {
  readonly toolName: string

  constructor(toolName: string, known: readonly string[] = []) {
    super('tool_not_found', describeUnknownTool(toolName, known))
    this.toolName = toolName
  }
}

/** Thrown when the arguments were not JSON. The `SyntaxError` with the position is in `cause`. */
export class ToolJsonError extends CapstanError {
  constructor(message: string, cause?: unknown) {
    super('tool_arguments_malformed', message, cause === undefined ? undefined : { cause })
  }
}

markErrorClass(CapstanError, 'CapstanError')
markErrorClass(ToolCallError, 'ToolCallError')
markErrorClass(ToolNotFoundError, 'ToolNotFoundError')
markErrorClass(ToolJsonError, 'ToolJsonError')

/** Returns the message for an unknown tool, with the nearest known names if there are any. */
export function describeUnknownTool(toolName: string, known: readonly string[]): string {
  const near = nearestNames(toolName, known)
  if (near.length > 0) return `Unknown tool "${toolName}". Did you mean ${quoteNames(near)}?`
  return `Unknown tool "${toolName}".`
}

/** Returns what a function returns, or another value when it throws. */
export function tryOr<Value, Other>(work: () => Value, otherwise: Other): Value | Other {
  try {
    return work()
  } catch {
    return otherwise
  }
}

/** Returns the message of any thrown value. Never throws. */
export function messageOf(thrown: unknown): string {
  try {
    const said = typeof thrown === 'object' && thrown !== null ? messageIn(thrown) : thrown
    if (typeof said === 'string' && said !== '') return said
  } catch {
    // A getter or proxy that throws has no message.
  }
  return 'an error that carries no message'
}

function messageIn(thrown: object): unknown {
  const { message, name } = thrown as { message?: unknown; name?: unknown }
  return typeof message === 'string' && message !== '' ? message : name
}
