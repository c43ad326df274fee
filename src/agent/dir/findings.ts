import type { AgentDirProblem } from './errors.js'

/** Collects what is wrong, so that all of it can be told at once. */
export class Findings {
  readonly #problems: AgentDirProblem[] = []
  readonly warnings: string[] = []

  add(file: string, line: number, message: string): void {
    this.#problems.push({ file, line, message })
  }

  /** By file and line. */
  list(): AgentDirProblem[] {
    return this.#problems.toSorted((a, b) => compare(a.file, b.file) || a.line - b.line)
  }
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
