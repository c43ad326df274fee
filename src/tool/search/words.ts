const empty = new Set(
  'a an and are as at be by for from in is it its of on or that the this to with'.split(' '),
)

/**
 * Returns the words of a text for searching: split at case changes and at everything except letters and digits, in
 * lower case, in the singular. Scripts without spaces are returned as whole runs.
 */
export function wordsOf(text: string): string[] {
  return text
    .normalize('NFC')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '' && !empty.has(word))
    .map(singular)
}

function singular(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
}
