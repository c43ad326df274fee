/** Returns the paths in the result of a file search: one per line, up to the blank line before the summary. */
export function filesIn(text: string): string[] {
  if (/^No (?:files|matches) found/.test(text)) return []
  const end = text.indexOf('\n\n')
  const list = end < 0 ? text : text.slice(0, end)
  return list.split('\n').filter((line) => line !== '')
}
