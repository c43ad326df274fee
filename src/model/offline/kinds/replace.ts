import { filesIn } from '../listing.js'
import {
  call,
  done,
  excerpt,
  failureOf,
  indented,
  type Kind,
  type Plan,
  type Result,
  undone,
} from '../plan.js'
import { term, unquoted } from '../sentence.js'
import { literal } from './find.js'

const all = /\b(?:all(?:\s+(?:of\s+them|occurrences(?:\s+of)?))?|every(?:where|\s+occurrence(?:\s+of)?)?)\b/i
const forms = [
  new RegExp(
    `^(?:replace|change|rename|substitute)\\s+(?:the\\s+(?:text|word|string)\\s+)?(${term})\\s+(?:by|with|to|into|for)\\s+(${term})(?:\\s+(?:in|inside|within)\\s+(?:the\\s+)?(?:file\\s+)?(${term}))?$`,
    'i',
  ),
  new RegExp(
    `^(?:edit|in)\\s+(?:the\\s+)?(?:file\\s+)?(?<file>${term})\\s*[,:]?\\s+(?:replace|change|rename|substitute)\\s+(${term})\\s+(?:by|with|to|into|for)\\s+(${term})$`,
    'i',
  ),
]

/** Replaces one text by another in a file: reads it first, edits it, and reports the change. */
export const replace: Kind = {
  examples: ['replace "colour" by "color" in README.md', 'replace all "foo" with "bar" in src/a.ts'],
  understand(sentence) {
    const everywhere = withoutQuotes(sentence).match(all) !== null
    const plain = everywhere ? dropOutsideQuotes(sentence) : sentence
    for (const form of forms) {
      const found = form.exec(plain)
      if (found === null) continue
      const file = found.groups?.['file']
      const [from, to, place] = file === undefined ? found.slice(1) : [...found.slice(2), file]
      if (from === undefined || to === undefined) continue
      return replacing({
        from: unquoted(from),
        to: unquoted(to),
        everywhere,
        ...(place !== undefined && { file: unquoted(place) }),
      })
    }
    return undefined
  },
}

type Change = {
  readonly from: string
  readonly to: string
  readonly everywhere: boolean
  readonly file?: string
}

function replacing(change: Change): Plan {
  const { file } = change
  return file === undefined ? findFile(change) : (results) => inFile(change, file, results)
}

/** Finds the file if none was named: only if exactly one file contains the text. */
function findFile(change: Change): Plan {
  return ([search, ...rest]) => {
    if (search === undefined)
      return call(
        'grep',
        { pattern: literal(change.from), output_mode: 'files_with_matches' },
        `Searching for the file that contains "${change.from}".`,
      )
    if (search.failed) return failureOf(search, `looking for "${change.from}"`)
    const files = filesIn(search.text)
    const [only] = files
    if (only === undefined) return undone(`No file contains "${change.from}".`)
    if (files.length === 1) return inFile(change, only, rest)
    return undone(
      `"${change.from}" is in ${files.length} files. Say in which one to replace it:\n\n${indented(excerpt(files.join('\n'), 20))}`,
    )
  }
}

function inFile(
  { from, to, everywhere }: Change,
  file: string,
  [read, edited]: readonly Result[],
): ReturnType<Plan> {
  if (read === undefined) return call('read', { file_path: file }, `Reading ${file} before I change it.`)
  if (read.failed) return failureOf(read, `reading ${file}`)
  const places = linesWith(read.text, from)
  const isWhole = !/more lines available|\[cut: /.test(read.text)
  if (places.length === 0 && isWhole && !from.includes('\n'))
    return undone(`${file} does not contain "${from}", so I changed nothing.`)
  if (places.length > 1 && !everywhere)
    return undone(
      `"${from}" is in ${places.length} lines of ${file}, so I changed nothing:\n\n${indented(excerpt(places.join('\n'), 10))}\n\nSay "replace all" to change all of them, or name a longer text.`,
    )
  if (edited === undefined) {
    const args = {
      file_path: file,
      old_string: from,
      new_string: to,
      ...(everywhere && { replace_all: true }),
    }
    return call('edit', args, `Replacing "${from}" by "${to}" in ${file}.`)
  }
  if (edited.failed) return failureOf(edited, `changing ${file}; it is unchanged`)
  const before = places.length === 0 ? '' : `\n\nBefore:\n\n${indented(excerpt(places.join('\n'), 10))}`
  return done(`I replaced "${from}" by "${to}" in ${file}. ${edited.text.trim()}${before}`)
}

/** Returns the numbered lines that contain a text, without padding. */
function linesWith(numbered: string, text: string): string[] {
  return numbered.split('\n').flatMap((line) => {
    const found = /^\s*(\d+)\t(.*)$/.exec(line)
    return found?.[2]?.includes(text) ? [`${found[1]}: ${found[2]}`] : []
  })
}

function withoutQuotes(sentence: string): string {
  return sentence.replace(/"[^"]*"|“[^”]*”|'[^']*'|`[^`]*`/g, '""')
}

function dropOutsideQuotes(sentence: string): string {
  return sentence
    .split(/("[^"]*"|“[^”]*”|'[^']*'|`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(all, ' ')))
    .join('')
    .replace(/\s+/g, ' ')
    .trim()
}
