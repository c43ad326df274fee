/** Returns an argument vector as text that a shell parses into the same vector. */
export function quoteArgv(argv: readonly string[]): string {
  return argv.map(quoteWord).join(' ')
}

function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) && !/^\w+=/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
