import type { AgentDirProblem } from './errors.js'

/** Collects problems, so that all are reported together. */
export class Findings {
  readonly #problems: AgentDirProblem[] = []
  readonly warnings: string[] = []

  add(file: string, line: number, message: string): void {
    this.#problems.push({ file, line, message })
  }

  /** The problems, sorted by file and line. */
  list(): AgentDirProblem[] {
    return this.#problems.toSorted((a, b) => compare(a.file, b.file) || a.line - b.line)
  }
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
