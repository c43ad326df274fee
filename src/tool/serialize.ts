import { isToolResultContentArray, type ToolResultContent } from './content.js'
import type { JsonValue } from './json.js'
import { parseJsonText } from './json-text.js'

/** A tool's output as a model can take it: text, or text and images. */
export type NormalizedToolOutput = string | ToolResultContent[]

/** The arguments that a model wrote, as a value. Blank text means no arguments. Throws `SyntaxError`, with the position. */
export function parseToolArgs(args: string): JsonValue {
  return args.trim() === '' ? {} : parseJsonText(args)
}

/** Strings stay as they are, everything else becomes JSON; what JSON cannot say becomes its string form. Never throws. */
export function serializeToolOutput(output: unknown): string {
  return typeof output === 'string' ? output : (jsonTextOf(output) ?? stringForm(output))
}

/** A value as JSON, or undefined when JSON cannot say it: circular, a bigint, a function, a `toJSON` that throws. */
export function jsonTextOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** Keeps multimodal content; everything else becomes text. */
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
