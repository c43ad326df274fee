const maxShownLength = 240

/**
 * Returns a path in quotes, with every character escaped that is invisible or can be mistaken for another: control
 * characters, direction marks, unusual spaces, compatibility look-alikes such as the full-width solidus, and marks that
 * make two spellings of one letter.
 */
export function shownPath(path: string, longest = maxShownLength): string {
  const decomposed = path !== path.normalize('NFC')
  let shown = ''
  for (const character of path) {
    if (shown.length >= longest) return `"${shown}..."`
    shown += isPlain(character, decomposed) ? character : escaped(character)
  }
  return `"${shown}"`
}

function isPlain(character: string, decomposed: boolean): boolean {
  if (character === '"' || character === '\\') return false
  if (character === ' ' || /^[\x21-\x7e]$/.test(character)) return true
  // Marks are ordinary letters of many scripts; they only mislead where a composed letter exists too.
  if (/^\p{M}$/u.test(character)) return !decomposed
  return !/^[\p{C}\p{Z}]$/u.test(character) && character === character.normalize('NFKC')
}

function escaped(character: string): string {
  if (character === '"' || character === '\\') return `\\${character}`
  if (character === '\n') return '\\n'
  if (character === '\t') return '\\t'
  const code = character.codePointAt(0) ?? 0
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}
