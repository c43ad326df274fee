import { nearestNames, quoteNames } from './nearest.js'

const markerPrefix = 'capstan.error.'

/**
 * The root of every error that Capstan throws on purpose. `code` is stable and meant for programs; the message is for people.
 *
 * `instanceof` compares a marker kept in the global symbol registry, so an error made by another copy of this package is
 * recognised too (two versions in one dependency tree are common).
 */
export class CapstanError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: { cause?: unknown }) {
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

/** What was thrown may be a proxy that refuses to be asked: it is none of ours then. */
function carries(value: object, marker: symbol): boolean {
  try {
    return marker in value
  } catch {
    return false
  }
}

/** Gives a class its cross-copy identity. Classes that are not marked keep the ordinary `instanceof`. */
export function markErrorClass(errorClass: { readonly prototype: object }, name: string): void {
  const marker = Symbol.for(markerPrefix + name)
  markers.set(errorClass, marker)
  Object.defineProperty(errorClass.prototype, marker, { value: true })
  Object.defineProperty(errorClass.prototype, 'name', { value: name, configurable: true, writable: true })
}

/** A tool threw, or its arguments or output did not fit its schema. The original is in `cause`. */
export class ToolCallError extends CapstanError {
  constructor(message: string, cause?: unknown) {
    super('tool_call_failed', message, cause === undefined ? undefined : { cause })
  }
}

/** The tool set holds no tool of that name. */
export class ToolNotFoundError extends CapstanError {
  readonly toolName: string

  constructor(toolName: string, known: readonly string[] = []) {
    super('tool_not_found', describeUnknownTool(toolName, known))
    this.toolName = toolName
  }
}

/** The arguments were not JSON. The `SyntaxError` with its position is in `cause`. */
export class ToolJsonError extends CapstanError {
  constructor(message: string, cause?: unknown) {
    super('tool_arguments_malformed', message, cause === undefined ? undefined : { cause })
  }
}

markErrorClass(CapstanError, 'CapstanError')
markErrorClass(ToolCallError, 'ToolCallError')
markErrorClass(ToolNotFoundError, 'ToolNotFoundError')
markErrorClass(ToolJsonError, 'ToolJsonError')

/** The sentence for an unknown tool, with the nearest known names when there are any. */
export function describeUnknownTool(toolName: string, known: readonly string[]): string {
  const near = nearestNames(toolName, known)
  if (near.length > 0) return `Unknown tool "${toolName}". Did you mean ${quoteNames(near)}?`
  return `Unknown tool "${toolName}".`
}

/** The words of anything that was thrown. Never throws itself, whatever that thing is. */
export function messageOf(thrown: unknown): string {
  try {
    const said = typeof thrown === 'object' && thrown !== null ? messageIn(thrown) : thrown
    if (typeof said === 'string' && said !== '') return said
  } catch {
    // A getter or proxy that throws has nothing to say.
  }
  return 'an error that carries no message'
}

function messageIn(thrown: object): unknown {
  const { message, name } = thrown as { message?: unknown; name?: unknown }
  return typeof message === 'string' && message !== '' ? message : name
}
