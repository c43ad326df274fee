import { filesIn } from '../listing.js'
import { call, done, excerpt, failureOf, indented, type Kind, undone } from '../plan.js'
import { looksLikePath, term, unquoted } from '../sentence.js'

const opening = new RegExp(
  `^(?:read|show(?:\\s+me)?|open|cat|print|display|view|what(?:'s|\\s+is|\\s+does)?(?:\\s+(?:in|inside))?)\\s+(?:the\\s+)?(?:(?:contents?|text)\\s+of\\s+)?(?:lines?\\s+(\\d+)(?:\\s*(?:-|–|to)\\s*(\\d+))?\\s+(?:of|in|from)\\s+)?(?:the\\s+)?(?:file\\s+)?(${term})(?:\\s+(?:file|say|says|contain|contains))?$`,
  'i',
)

/** Reads a file; if it does not exist at that path, searches for its name. */
export const read: Kind = {
  examples: ['read README.md', 'show lines 10-20 of src/index.ts'],
  understand(sentence) {
    const found = opening.exec(sentence)
    if (found === null) return undefined
    const path = unquoted(found[3] ?? '')
    // "show changes" and similar requests are of other kinds.
    if (!looksLikePath(path) && !/^(?:read|cat|open)\b/i.test(sentence) && !named.test(path)) return undefined
    const lines = lineRange(found[1], found[2])
    const ask = (file: string) => call('read', { file_path: file, ...lines }, `Reading ${file}.`)
    return (results) => {
      const last = results.at(-1)
      if (last === undefined) return ask(path)
      if (last.tool === 'read' && !last.failed)
        return done(`${String(last.args['file_path'])} says:\n\n${indented(excerpt(last.text, 120))}`)
      const first = results[0]
      if (results.length === 1 && first !== undefined && isMissing(first.text))
        return call(
          'glob',
          { pattern: `**/${baseOf(path)}` },
          `There is no ${path}; looking for a file of that name.`,
        )
      if (last.tool !== 'glob' || last.failed) return failureOf(last, `reading ${path}`)
      const names = filesIn(last.text)
      const [only] = names
      if (only === undefined) return undone(`There is no file ${path}, and no other file with that name.`)
      if (names.length === 1) return ask(only)
      return undone(
        `There is no file ${path}. Which of these do you mean?\n\n${indented(excerpt(names.join('\n'), 20))}`,
      )
    }
  },
}

/** Files with well-known names without an extension. */
const named = /^(?:readme|license|changelog|makefile|dockerfile|contributing)$/i

function lineRange(from: string | undefined, to: string | undefined): { offset?: number; limit?: number } {
  if (from === undefined) return {}
  const first = Math.max(1, Number(from))
  return { offset: first - 1, limit: Math.max(1, Number(to ?? from) - first + 1) }
}

function isMissing(text: string): boolean {
  return /no such|not found|does not exist|no file|ENOENT/i.test(text) && !/refus|denied/i.test(text)
}

function baseOf(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path
}
