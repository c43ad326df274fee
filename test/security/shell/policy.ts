import type { CommandAnalysis } from '../../../src/authority/shell/analysis.js'
import { analyzeCommand } from '../../../src/authority/shell/analyze-command.js'
import {
  type CommandPattern,
  compileCommandPattern,
  patternAllows,
  patternDenies,
} from '../../../src/authority/shell/command-pattern.js'

export type Decision = 'allow' | 'ask' | 'deny' | 'error'

/** Policy P0 of the catalogue, as far as it concerns commands. */
export const P0: Policy = policy({
  allow: ['git log*', 'git diff*', 'ls*', 'cat*', 'echo*', 'npm run build*'],
  deny: ['rm -rf*'],
  denyReads: ['/.ssh/'],
})

export type Policy = {
  readonly allow: readonly CommandPattern[]
  readonly deny: readonly CommandPattern[]
  readonly denyReads: readonly string[]
}

export function policy(texts: {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  readonly denyReads?: readonly string[]
}): Policy {
  return {
    allow: (texts.allow ?? []).map(compileCommandPattern),
    deny: (texts.deny ?? []).map(compileCommandPattern),
    denyReads: texts.denyReads ?? [],
  }
}

/** The smallest evaluator that follows steps 3, 7 and 10: reading inside the start directory is allowed, writing is asked about. */
export function decide(command: string, { allow, deny, denyReads }: Policy = P0): Decision {
  const analysis = analyzeCommand(command)
  if (analysis.invalid !== undefined) return 'error'
  if (analysis.units.some((unit) => deny.some((pattern) => patternDenies(pattern, unit)))) return 'deny'
  if (
    analysis.paths.some(
      ({ fs, path }) => fs === 'read' && denyReads.some((part) => `/${path}`.includes(part)),
    )
  )
    return 'deny'
  const allowed =
    analysis.doubts.length === 0 &&
    analysis.units.every(
      (unit) =>
        (unit.transparent && unit.doubts.length === 0) ||
        allow.some((pattern) => patternAllows(pattern, unit)),
    ) &&
    staysInside(analysis)
  return allowed ? 'allow' : 'ask'
}

function staysInside({ paths, hosts }: CommandAnalysis): boolean {
  return (
    hosts.length === 0 &&
    paths.every(({ fs, path, cwd }) => fs === 'read' && !/^[/~]|\.\./.test(path) && !cwd?.startsWith('/'))
  )
}
