import { join } from 'node:path'
import { isRecord } from '../../../tool/json.js'
import { changeFile } from '../../../workspace/rules/change-file.js'
import { readIfThere } from '../../../workspace/rules/read-if-there.js'

/** Texts that were sent before, newest last. */
export interface History {
  readonly entries: readonly string[]
  /** Resolves when the text is saved. A text that starts with a space, or repeats the last one, is not saved. */
  add(text: string): Promise<void>
}

/** Opens the history in the user's directory: a private file with one line of JSON per entry. */
export async function openHistory(userDir: string): Promise<History> {
  const file = join(userDir, 'history')
  const entries = parse(await readIfThere(file, maxFileBytes).catch(() => undefined))
  return {
    entries,
    async add(text) {
      if (text.trim() === '' || text.startsWith(' ') || text.length > maxEntryLength) return
      if (entries.at(-1) === text) return
      entries.push(text)
      await changeFile(file, async () => {
        // Another session can have added entries.
        const stored = parse(await readIfThere(file, maxFileBytes).catch(() => undefined))
        return serialized([...stored, text])
      })
    },
  }
}

const maxFileBytes = 4 * 1024 * 1024
const maxEntryLength = 64 * 1024
const maxEntries = 1_000
const maxCharacters = 1024 * 1024

function parse(text: string | undefined): string[] {
  return (text ?? '').split('\n').flatMap((line) => {
    if (line === '') return []
    try {
      const entry: unknown = JSON.parse(line)
      return isRecord(entry) && typeof entry['text'] === 'string' ? [entry['text']] : []
    } catch {
      // The line is not an entry of the history.
      return []
    }
  })
}

function serialized(entries: readonly string[]): string {
  const lines: string[] = []
  let characters = 0
  for (const text of entries.slice(-maxEntries).reverse()) {
    const line = JSON.stringify({ text })
    characters += line.length
    if (characters > maxCharacters) break
    lines.push(line)
  }
  return lines
    .reverse()
    .map((line) => `${line}\n`)
    .join('')
}
