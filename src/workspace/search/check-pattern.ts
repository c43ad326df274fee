import { SearchError } from './errors.js'

const maxLength = 10_000

/** Rejects patterns that no engine accepts, before an engine is started. */
export function checkPattern(pattern: string): void {
  const problem =
    pattern === ''
      ? 'is empty'
      : pattern.length > maxLength
        ? `is longer than ${maxLength} characters`
        : pattern.includes('\0')
          ? 'contains a NUL character'
          : pattern.includes('\n')
            ? 'contains a line break; matches are sought within one line'
            : undefined
  if (problem !== undefined) throw new SearchError('search_pattern_invalid', `The pattern ${problem}.`)
}
