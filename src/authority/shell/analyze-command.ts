import type { CommandAnalysis, CommandUnit } from './analysis.js'
import { collectUnits, type Findings, newFindings } from './collect-units.js'
import { crudeUnits } from './crude-units.js'
import { parseBash } from './parse-bash.js'

/**
 * Analyzes what a command would do, as far as its text shows, without running it.
 *
 * ```ts
 * const { units, doubts } = analyzeCommand('cd src && git log | head -5')
 * units.map((unit) => unit.text) // ['cd src', 'git log', 'head -5']
 * ```
 *
 * Never throws. What is not understood becomes a doubt, and a command with doubts is never allowed by a pattern.
 */
export function analyzeCommand(text: string, options: { readonly cwd?: string } = {}): CommandAnalysis {
  const invalid = invalidText(text)
  if (invalid !== undefined)
    return { text, units: [], doubts: [invalid], invalid, possible: [], paths: [], hosts: [] }
  const limit = tooLarge(text)
  const unusual = unusualCharacters(text)
  const doubts = [limit, unusual].filter((doubt) => doubt !== undefined)
  const script = limit === undefined ? parseBash(text) : undefined
  if (!script)
    return unparsed(text, limit === undefined ? [...doubts, 'the command was not understood'] : doubts)

  const findings = newFindings(options.cwd ?? '.')
  collectUnits(script, { source: text, depth: 0, inherited: [] }, [findings.start], findings)
  const units = withRenamed(findings)
  return {
    text,
    // Characters that bash and the parser may read differently can hide the end of a command from the parser.
    units: unusual === undefined ? units : [...units, ...crudeUnits(text, unusual)],
    doubts: [...doubts, ...findings.doubts, ...countDoubts(findings.units.length)],
    possible: findings.possible,
    paths: findings.paths,
    hosts: [...findings.hosts],
  }
}

/** Denies are still matched against everything in the text that could be a command. */
function unparsed(text: string, doubts: readonly string[]): CommandAnalysis {
  return { text, units: crudeUnits(text, doubts[0] ?? ''), doubts, possible: [], paths: [], hosts: [] }
}

/** After a function, an alias or a new PATH, a name can mean anything, also earlier in the text (in a loop or trap). */
function withRenamed({ units, renamed }: Findings): readonly CommandUnit[] {
  if (renamed.size === 0) return units
  return units.map((unit) => ({ ...unit, doubts: [...new Set([...unit.doubts, ...renamed])] }))
}

function countDoubts(count: number): string[] {
  if (count === 0) return ['there is no command in it']
  return count > MAX_UNITS ? [`it has more than ${MAX_UNITS} commands`] : []
}

const MAX_BYTES = 8 * 1024
const MAX_UNITS = 200
const MAX_NESTING = 32

/** Returns why a text cannot be a command at all. */
function invalidText(text: string): string | undefined {
  if (text.includes('\0')) return 'the command contains a NUL byte'
  if (/\p{Cs}/u.test(text)) return 'the command is not well-formed text (half of a surrogate pair)'
  return undefined
}

/** Returns why a text is not parsed: the parser takes quadratic time, so the text must be limited. */
function tooLarge(text: string): string | undefined {
  if (byteLength(text) > MAX_BYTES) return `the command is longer than ${MAX_BYTES} bytes`
  if (nesting(text) > MAX_NESTING) return `the command nests more than ${MAX_NESTING} levels deep`
  return undefined
}

/**
 * Finds characters that people do not see, or that bash and a parser may read differently. A command that contains
 * one is shown escaped and needs approval.
 */
function unusualCharacters(text: string): string | undefined {
  const found = UNUSUAL.exec(text)
  if (!found) return undefined
  const code = found[0].codePointAt(0) ?? 0
  return `the command contains the invisible or unusual character U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}

// C0 and C1 controls except tab and newline, every Unicode space except U+0020, line separators, format characters
// (including zero-width and bidirectional controls), and everything else that is invisible.
const UNUSUAL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|(?! )\p{Zs}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}|\p{Cf}/u

/** Returns an upper bound: brackets of each kind are counted everywhere, also in quotes. */
function nesting(text: string): number {
  const open = [0, 0, 0]
  let deepest = 0
  for (const char of text) {
    const kind = '({['.indexOf(char)
    const closed = ')}]'.indexOf(char)
    if (kind >= 0) {
      open[kind] = (open[kind] ?? 0) + 1
      deepest = Math.max(
        deepest,
        open.reduce((sum, count) => sum + count, 0),
      )
    } else if (closed >= 0) open[closed] = Math.max(0, (open[closed] ?? 0) - 1)
  }
  return deepest
}

function byteLength(text: string): number {
  // Most commands are ASCII and short: only those near the limit are encoded.
  return text.length * 3 <= MAX_BYTES || text.length > MAX_BYTES
    ? text.length
    : new TextEncoder().encode(text).length
}
