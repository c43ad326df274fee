import type { CommandAnalysis, CommandUnit } from './analysis.js'
import { collectUnits, type Findings, newFindings } from './collect-units.js'
import { crudeUnits } from './crude-units.js'
import { parseBash } from './parse-bash.js'
import { invalidText, MAX_UNITS, tooLarge, unusualCharacters } from './text-limits.js'

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
