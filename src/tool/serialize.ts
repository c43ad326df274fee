import { isToolResultContentArray, type ToolResultContent } from './content.js'
import type { JsonValue } from './json.js'
import { parseJsonText } from './json-text.js'

/** A tool's output as a model can read it: text, or text and images. */
export type NormalizedToolOutput = string | ToolResultContent[]

/** Parses the arguments that a model wrote. Blank text means no arguments. Throws `SyntaxError` with the position. */
export function parseToolArgs(args: string): JsonValue {
  return args.trim() === '' ? {} : parseJsonText(args)
}

/** Returns strings unchanged and all else as JSON; what is not JSON is converted with `String`. Never throws. */
export function serializeToolOutput(output: unknown): string {
  return typeof output === 'string' ? output : (jsonTextOf(output) ?? stringForm(output))
}

/** Returns a value as JSON, or undefined when it is not JSON: circular, a bigint, a function, a throwing `toJSON`. */
export function jsonTextOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** Returns multimodal content unchanged and everything else as text. */
export function normalizeToolResultOutput(output: unknown): NormalizedToolOutput {
  return isToolResultContentArray(output) ? output : serializeToolOutput(output)
}

function stringForm(output: unknown): string {
  try {
    return String(output)
  } catch {
    // No prototype, a throwing toString, a revoked proxy, or too deep.
    return '[value without a string form]'
  }
}
