import { literal } from './find-text.js'
import { block, call, done, failureOf, filesIn, type Plan, type Result, undone } from './plan.js'

type Change = {
  readonly from: string
  readonly to: string
  readonly everywhere: boolean
  readonly file: string | undefined
}

/** Replaces one text by another in a file: reads it first, edits it, and reports the change. */
export function replaceText(change: Change): Plan {
  const { file } = change
  return file === undefined ? findFile(change) : (results) => inFile(change, file, results)
}

/** Finds the file if none was named, if exactly one file contains the text. */
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
      `"${change.from}" is in ${files.length} files. Say in which one to replace it:\n\n${block(files.join('\n'), 20)}`,
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
      `"${from}" is in ${places.length} lines of ${file}, so I changed nothing:\n\n${block(places.join('\n'), 10)}\n\nSay "replace all" to change all of them, or name a longer text.`,
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
  const before = places.length === 0 ? '' : `\n\nBefore:\n\n${block(places.join('\n'), 10)}`
  return done(`I replaced "${from}" by "${to}" in ${file}. ${edited.text.trim()}${before}`)
}

/** Returns the numbered lines that contain a text, without padding. */
function linesWith(numbered: string, text: string): string[] {
  return numbered.split('\n').flatMap((line) => {
    const found = /^\s*(\d+)\t(.*)$/.exec(line)
    return found?.[2]?.includes(text) ? [`${found[1]}: ${found[2]}`] : []
  })
}
