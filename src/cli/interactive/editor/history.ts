import { join } from 'node:path'
import { isRecord } from '../../../tool/json.js'
import { changeFile } from '../../../workspace/rules/change-file.js'
import { readIfThere } from '../../../workspace/rules/read-if-there.js'

/** What was sent before, the newest last. */
export interface History {
  readonly entries: readonly string[]
  /** Resolves when it is kept. What begins with a blank is not kept, nor what was sent just before. */
  add(text: string): Promise<void>
}

/** Kept in the user's directory, for this user's eyes only, as one line of JSON an entry. */
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
        // Another session may have added to it meanwhile.
        const kept = parse(await readIfThere(file, maxFileBytes).catch(() => undefined))
        return serialized([...kept, text])
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
      // A line that somebody else wrote there.
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
