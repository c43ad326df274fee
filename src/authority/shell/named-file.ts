import type { Word } from './analysis.js'

/**
 * Returns the file that a word names. A word that is not static is still enough for a deny when only a tilde, a glob
 * or the home directory makes it dynamic: `~/.ssh/*`, `"$HOME/.ssh/id_rsa"`.
 */
export function namedFile(word: Word): string | undefined {
  if (word.value !== undefined) return word.value === '' ? undefined : word.value
  const text = word.text.replaceAll(/["']/g, '').replace(/^\$(HOME|\{HOME\})(?=\/|$)/, '~')
  return /[$`{}()\\]/.test(text) || text === '…' ? undefined : text
}
