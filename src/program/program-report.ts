import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { isRecord, type JsonObject, type JsonValue } from '../tool/json.js'
import type { ProgramOutcome } from './machine/machine.js'
import type { ProgramToolCall } from './machine/program-calls.js'

const shownCalls = 50
const shownConsole = 4_000

/** Returns the report of a program: text for the caller, and metadata. */
export function reportProgram(outcome: ProgramOutcome, language: 'javascript' | 'typescript'): Envelope {
  const metadata = metadataOf(outcome, language)
  const done = [callsText(outcome.calls), ...consoleText(outcome)]
  if (!outcome.ok) {
    const text = [outcome.message, ...done].join('\n\n')
    return errorEnvelope(text, { ...metadata, error_code: outcome.code, exit_code: 1 })
  }
  const { result } = outcome
  const summary = isRecord(result) && typeof result['summary'] === 'string' ? `\n${result['summary']}` : ''
  const head = `Program script completed.${summary}`
  const text = [head, ...done, `Result:\n${resultText(result, outcome.limits.maxOutputBytes)}`].join('\n\n')
  return outputEnvelope(text, { ...metadata, script_result: result })
}

/** Indents the result if that fits, because the limit also applies to its text. */
function resultText(result: JsonValue, maxBytes: number): string {
  const indented = JSON.stringify(result, undefined, 2)
  return Buffer.byteLength(indented) <= maxBytes ? indented : JSON.stringify(result)
}

function metadataOf(
  { ok, calls, console, limits }: ProgramOutcome,
  language: string,
): { program: JsonObject } {
  const lines = console.map(({ level, text }): JsonValue => ({ level, text }))
  return {
    program: {
      name: 'script',
      language,
      runtime: 'embedded-quickjs',
      success: ok,
      limits: { ...limits },
      tool_calls: calls.map((call): JsonObject => ({ ...call })),
      ...(lines.length > 0 && { console: lines }),
    },
  }
}

function callsText(calls: readonly ProgramToolCall[]): string {
  const lines = calls
    .slice(0, shownCalls)
    .map(({ tool_name, success, exit_code, output_bytes, truncated }, at) => {
      const state = success ? 'ok' : 'failed'
      const cut = truncated ? ', cut' : ''
      return `${at + 1}. ${tool_name.slice(0, 128)} (${state}, exit_code=${exit_code}, output_bytes=${output_bytes}${cut})`
    })
  const more = calls.length > shownCalls ? [`... and ${calls.length - shownCalls} more`] : []
  return [`Tool calls: ${calls.length}`, ...lines, ...more].join('\n')
}

/** Includes console output, because a script that prints expects it to be read. */
function consoleText({ console }: ProgramOutcome): string[] {
  if (console.length === 0) return []
  const text = console.map((line) => line.text).join('\n')
  const cut =
    text.length > shownConsole
      ? `${text.slice(0, shownConsole).replace(/[\uD800-\uDBFF]$/, '')}\n[cut]`
      : text
  return [`Console:\n${cut}`]
}
