/** The cells of each row of the table between two markers of a page, without its head. */
export function rowsBetween(page: string, name: string): string[][] {
  const [, between] = new RegExp(`<!-- ${name}:begin -->\n([\\s\\S]*?)<!-- ${name}:end -->`).exec(page) ?? []
  if (between === undefined) throw new Error(`The page has no table between the markers of "${name}".`)
  const rows = between.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** What is between backquotes in a cell. */
export function nameIn(cell = ''): string {
  return /^`([^`]+)`$/.exec(cell)?.[1] ?? cell
}
