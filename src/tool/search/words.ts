const empty = new Set(
  'a an and are as at be by for from in is it its of on or that the this to with'.split(' '),
)

/**
 * Returns the words of a text for searching: split at case changes and at everything except letters and digits, in
 * lower case, in the singular. Scripts without spaces are returned as whole runs.
 */
export function wordsOf(text: string): string[] {
  patterns ??= createPatterns()
  return text
    .normalize('NFC')
    .replace(patterns.caseChange, '$1 $2')
    .replace(patterns.endOfCapitals, '$1 $2')
    .toLowerCase()
    .split(patterns.separator)
    .filter((word) => word !== '' && !empty.has(word))
    .map(singular)
}

let patterns: ReturnType<typeof createPatterns> | undefined

/**
 * Not literals: V8 checks each literal when it parses a file, and collects the characters of every `\p` for that, a
 * millisecond at the start of every program.
 */
function createPatterns() {
  const [lower, upper, digit] = ['\\p{Ll}', '\\p{Lu}', '\\p{N}']
  return {
    caseChange: new RegExp(`(${lower}|${digit})(${upper})`, 'gu'),
    endOfCapitals: new RegExp(`(${upper})(${upper}${lower})`, 'gu'),
    separator: new RegExp(`[^\\p{L}\\p{M}${digit}]+`, 'u'),
  }
}

function singular(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
}
