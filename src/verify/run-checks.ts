import { pathToFileURL } from 'node:url'
import type { VerificationCheck, VerificationEvidence } from '../store/verification.js'
import type { Envelope } from '../tool/envelope.js'
import { isRecord } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { toToolResult } from '../tool/tool-result.js'
import type { CheckCommand } from './read-commands.js'

export type CheckParts = {
  /** One call of `bash` through the gate, with the authority of the verifier. */
  bash(
    args: { readonly command: string; readonly timeout?: number },
    command: CheckCommand,
  ): Promise<Envelope>
  readonly keepOutput: KeepOutput
  readonly signal: AbortSignal
  started?(command: CheckCommand): void
  ended?(check: VerificationCheck): void
  now(): number
}

/**
 * Runs the commands one after the other. A failure does not stop later ones; an abort skips all that remain, and each
 * check reports that.
 */
export async function runChecks(
  commands: readonly CheckCommand[],
  parts: CheckParts,
): Promise<VerificationCheck[]> {
  const checks: VerificationCheck[] = []
  for (const command of commands) {
    parts.started?.(command)
    const check = await runCheck(command, parts)
    checks.push(check)
    parts.ended?.(check)
  }
  return checks
}

async function runCheck(command: CheckCommand, parts: CheckParts): Promise<VerificationCheck> {
  if (parts.signal.aborted) return cancelled(command, 'It was cancelled before it began.')
  const began = parts.now()
  const args = {
    command: textOf(command),
    ...omitUndefined({ timeout: command.timeoutMs }),
  }
  const envelope = await parts.bash(args, command)
  const duration_ms = Math.max(0, Math.round(parts.now() - began))
  const { exit_code, timed_out, output_path, output_bytes, job_id } = envelope.metadata
  const ran = envelope.type === 'output' && typeof exit_code === 'number'
  if (!ran && parts.signal.aborted)
    return { ...cancelled(command, 'It was cancelled while it ran.'), duration_ms }
  if (!ran && timed_out !== true) return { ...notRun(command, envelope), duration_ms }
  const passed = ran && exit_code === 0
  const evidence = await evidenceOf(
    outputText(envelope),
    {
      ...(typeof output_bytes === 'number' && { bytes: output_bytes }),
      ...(typeof output_path === 'string' && { path: output_path }),
    },
    parts.keepOutput,
  )
  return {
    ...base(command),
    status: passed ? 'passed' : 'failed',
    outcome: ran ? 'exited' : 'timed_out',
    ...(typeof exit_code === 'number' && { exit_code }),
    duration_ms,
    evidence,
    evidence_uris: evidence.output_path === undefined ? [] : [pathToFileURL(evidence.output_path).toString()],
    suggested_tools: passed ? [] : ['bash'],
    ...(typeof job_id === 'string' && {
      residual_risk: `It left processes running, as background job ${job_id}.`,
    }),
  }
}

/**
 * Adds the change of directory to the command itself, so that it is judged, shown and recorded like every other
 * command.
 */
function textOf({ command, cwd }: CheckCommand): string {
  return cwd === undefined || cwd === '.' ? command : `cd ${quoted(cwd)} || exit 125\n${command}`
}

function quoted(path: string): string {
  // A path that starts with a dash must not be read as an option.
  const safe = path.startsWith('-') ? `./${path}` : path
  return `'${safe.replaceAll("'", `'\\''`)}'`
}

function base({ id, kind, description, command, cwd, required }: CheckCommand) {
  return {
    id,
    kind,
    description,
    required,
    command,
    ...omitUndefined({ cwd }),
    evidence_uris: [],
    suggested_tools: [],
  } as const
}

function cancelled(command: CheckCommand, why: string): VerificationCheck {
  return {
    ...base(command),
    status: 'skipped',
    outcome: 'cancelled',
    suggested_tools: ['bash'],
    residual_risk: why,
  }
}

/** The command was refused or did not run: its result is unknown. */
function notRun(command: CheckCommand, envelope: Envelope): VerificationCheck {
  const words =
    envelope.type === 'error'
      ? envelope.error_text
      : 'The command has no exit code, so its outcome is unknown.'
  return {
    ...base(command),
    status: 'needs_review',
    outcome: 'not_run',
    suggested_tools: ['bash'],
    residual_risk: `It was not run: ${words.slice(0, maxReasonLength)}`,
  }
}

const maxReasonLength = 1_000

/** The output of a long command is an object with its head and its size. */
function outputText(envelope: Envelope): string {
  if (envelope.type === 'output' && isRecord(envelope.data) && typeof envelope.data['head'] === 'string')
    return envelope.data['head']
  return toToolResult('bash', envelope).output
}

const headLength = 2_000
const tailLength = 6_000

/** Writes a text to a scratch file and returns its path. */
type KeepOutput = (label: string, text: string) => Promise<string>

/**
 * Returns the beginning and the end of an output, where failures are visible; a longer output is also written to a
 * file.
 */
async function evidenceOf(
  text: string,
  known: { readonly bytes?: number; readonly path?: string },
  keep: KeepOutput,
): Promise<VerificationEvidence> {
  const bytes = known.bytes ?? Buffer.byteLength(text)
  if (text.length <= headLength + tailLength)
    return { head: text, bytes, ...omitUndefined({ output_path: known.path }) }
  const head = wholeCharacters(text.slice(0, headLength))
  const tail = wholeCharacters(text.slice(-tailLength))
  const path = known.path ?? (await keep('verification', text).catch(() => undefined))
  return { head, tail, bytes, ...omitUndefined({ output_path: path }) }
}

/** Removes half a surrogate pair at either end. */
function wholeCharacters(text: string): string {
  return text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
}
