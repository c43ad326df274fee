import { countBound } from './grep-collector.js'

export type CutShort = 'deadline' | 'aborted' | 'enough' | 'unreadable'

/** Explains why a result is incomplete, and what to do about it. */
export function incompleteText(reason: CutShort | undefined, deadlineMs: number): string | undefined {
  switch (reason) {
    case undefined:
      return undefined
    case 'deadline':
      return `The search was stopped after ${deadlineMs} ms; narrow it with a path or a glob.`
    case 'aborted':
      return 'The search was stopped before it was done.'
    case 'enough':
      return `Counting was stopped after ${countBound} matches; use a narrower pattern, path or glob.`
    case 'unreadable':
      return 'Some files or directories could not be read.'
  }
}
