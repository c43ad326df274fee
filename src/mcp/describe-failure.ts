import { omitUndefined } from '../tool/omit-undefined.js'
import type { McpServerFailure } from './host-types.js'
import { type Redact, shownLine } from './secrets.js'
import type { McpReach, StdioReach } from './server-options.js'

/** How the program of a server exited, and what it wrote to standard error. */
export type ProcessFacts = {
  readonly exitCode?: number | null
  readonly signal?: string
  /** The first and the last lines, with secrets removed. */
  readonly stderr?: readonly string[]
}

/** Collects the details of a server that could not be started or reached. */
export function failureOf(reach: McpReach, redact: Redact, facts: ProcessFacts = {}): McpServerFailure {
  if (reach.by === 'http') return { address: reach.url.origin }
  const withheld = withheldFrom(reach)
  return {
    command: shownLine(reach.argv.join(' '), redact, 200),
    ...facts,
    ...omitUndefined({ withheld }),
  }
}

/** Describes the failure as text, after the reason. */
export function describeFailure(why: string, { command, address, withheld }: McpServerFailure): string {
  return [
    why,
    ...(command === undefined ? [] : [`its command is: ${command}`]),
    ...(address === undefined ? [] : [`its address is: ${address}`]),
    ...(withheld === undefined
      ? []
      : [`the sandbox withheld ${withheld} (allowHosts, writable and readOnly of its entry grant more)`]),
  ].join('; ')
}

/** What the sandbox withholds from a confined program; undefined for an unconfined one. */
export function withheldFrom({ sandbox, allowHosts, writable, readOnly }: StdioReach): string | undefined {
  if (sandbox === 'off') return undefined
  const network = (allowHosts ?? []).length === 0 ? 'the network' : `hosts other than ${listed(allowHosts)}`
  const shown = (readOnly ?? []).length === 0 ? '' : ` except ${listed(readOnly)}`
  const writing =
    (writable ?? []).length === 0 ? 'all writing' : `writing to other places than ${listed(writable)}`
  return `${network}, the home directory and temporary files${shown}, and ${writing}`
}

function listed(names: readonly string[] = []): string {
  return shownLine(names.slice(0, 10).join(', '), (same) => same, 200)
}

/**
 * Returns the first and the last lines of a text of which the beginning and the end are known. Secrets are removed
 * before the text is split into lines, because a secret can have several lines. The end may begin in the middle of a
 * line, or of a secret: that first line is left out.
 */
export function endsOf(head: string, tail: string, isWhole: boolean, redact: Redact): string[] {
  const lines = (text: string): string[] =>
    redact(text)
      .split('\n')
      .map((line) => shownLine(line, redact, 160))
  const said = (line: string): boolean => line !== ''
  const first = lines(head).filter(said)
  if (isWhole && first.length <= firstLines + lastLines) return first
  const last = isWhole ? first : lines(tail).slice(1).filter(said)
  return [...first.slice(0, firstLines), '…', ...last.slice(-lastLines)]
}

/**
 * Five lines include the message of a program that dies of an error: it comes after the source position and before
 * the stack trace.
 */
const firstLines = 5
const lastLines = 4
