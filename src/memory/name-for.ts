/** A file name that says what is in the file: the day, the first words of its topic, and the end of an id. */
export function nameFor(title: string, createdAtMs: number, id: string): string {
  const date = new Date(createdAtMs).toISOString().slice(0, 10)
  const words = title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}+/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxNameWordsLength)
    .replace(/^-+|-+$/g, '')
  const tail = id.replace(/[^A-Za-z0-9]+/g, '').slice(-tailLength) || '1'
  return [date, words, tail].filter((part) => part !== '').join('-')
}

const maxNameWordsLength = 40
const tailLength = 8
