import { builtInTool } from '../tool/create-json-tool.js'
import { outputEnvelope } from '../tool/envelope.js'
import { CapstanError } from '../tool/errors.js'
import { objectSchema } from '../tool/object-schema.js'
import type { RuntimeFiles } from '../tool/runtime.js'
import { changedMeanwhile } from './changed-meanwhile.js'
import { mapEndings, withLf } from './line-endings.js'
import { hintAtMissing } from './missing-text.js'
import { orDescribeMissing } from './nearest-path.js'
import { pathText } from './path-text.js'
import { countChanges, placesOf, replaceAt } from './replace-text.js'
import { requireService } from './require-service.js'
import { byteOrderMark, readTextFile } from './text-file.js'

export type EditArgs = { file_path: string; old_string: string; new_string: string; replace_all?: boolean }

/** Replaces a text in a file. */
export const editTool = builtInTool<EditArgs>({
  name: 'edit',
  description:
    'Replace old_string by new_string in a text file. old_string must occur exactly once, whitespace included and ' +
    'without the line numbers of read; else nothing is changed and the places are named. replace_all: every occurrence.',
  kind: 'edit',
  requires: { fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] } },
  parameters: objectSchema({
    file_path: { type: 'string' },
    old_string: { type: 'string' },
    new_string: { type: 'string' },
    'replace_all?': { type: 'boolean' },
  }),
  touches: ({ file_path }) => [
    { fs: 'read', path: file_path },
    { fs: 'write', path: file_path },
  ],
  async execute(args, context) {
    refuseNothing(args)
    const path = args.file_path
    const files = requireService(context, 'files')
    const { text, version } = await orDescribeMissing(context, path, readTextFile(files, path))
    const { body, mark } = splitMark(text)
    const map = mapEndings(body)
    const wanted = withLf(splitMark(args.old_string).body)
    // A file without a line break has no line endings to keep.
    const given = map.lf.includes('\n') ? withLf(args.new_string) : args.new_string
    const places = placesOf(map.lf, wanted, maxPlaces + 1)
    refuseUnclear(args, map.lf, wanted, places)
    const bytes = await write(files, path, mark + replaceAt(map, places, wanted, given), version)
    const { added, removed } = countChanges(map.lf, places, wanted, given)
    return outputEnvelope(
      `Replaced ${places.length} occurrence(s) in ${pathText(path)} (+${added} -${removed} lines)`,
      { file_path: path, replacements: places.length, added, removed, bytes },
    )
  },
})

function refuseNothing({ old_string, new_string }: EditArgs): void {
  if (old_string === '')
    throw new CapstanError(
      'edit_arguments',
      'old_string must not be empty. Name the text to replace; to create a file or replace all of it use write.',
    )
  if (old_string === new_string)
    throw new CapstanError(
      'edit_arguments',
      'old_string and new_string are the same, so nothing would change. Give the text as it should become.',
    )
  if (withLf(old_string) === withLf(new_string))
    throw new CapstanError(
      'edit_arguments',
      'old_string and new_string differ only in line endings, and edit keeps those of the file. Use write to change them.',
    )
}

function splitMark(text: string): { body: string; mark: string } {
  return text.startsWith(byteOrderMark)
    ? { body: text.slice(1), mark: byteOrderMark }
    : { body: text, mark: '' }
}

function refuseUnclear(args: EditArgs, text: string, wanted: string, places: readonly number[]): void {
  const path = pathText(args.file_path)
  const [first] = places
  if (wanted === '' || first === undefined) {
    const hint = wanted === '' ? '' : hintAtMissing(text, wanted)
    throw new CapstanError(
      'edit_no_match',
      `old_string not found in ${path}; the file was left untouched. ${hint || 'Read the file again and copy the text exactly.'}`,
    )
  }
  if (places.length > maxPlaces)
    throw new CapstanError(
      'edit_ambiguous',
      `old_string found more than ${maxPlaces} times in ${path}; the file was left untouched. Provide a more specific string, or use a command.`,
    )
  if (args.replace_all) return
  // An occurrence that overlaps the first also makes the match ambiguous, though both cannot be replaced.
  const overlapping = text.indexOf(wanted, first + 1)
  if (overlapping < 0) return
  const all = overlapping < first + wanted.length ? [first, overlapping, ...places.slice(1)] : places
  throw new CapstanError(
    'edit_ambiguous',
    `old_string found ${all.length} times in ${path} (at ${linesOf(text, all)}); the file was left untouched. ` +
      'Use replace_all=true to replace all occurrences, or provide a more specific string.',
  )
}

const maxLines = 10
/** More replacements would block the event loop for too long. */
const maxPlaces = 1_000_000

function linesOf(text: string, places: readonly number[]): string {
  let line = 1
  let done = 0
  const numbers = [
    ...new Set(
      places.slice(0, maxLines).map((place) => {
        for (let at = text.indexOf('\n', done); at >= 0 && at < place; at = text.indexOf('\n', at + 1)) line++
        done = Math.max(done, place)
        return line
      }),
    ),
  ]
  const more = places.length > maxLines ? ', ...' : ''
  return `line${numbers.length > 1 ? 's' : ''} ${numbers.join(', ')}${more}`
}

async function write(files: RuntimeFiles, path: string, text: string, version: string): Promise<number> {
  try {
    return (await files.write(path, text, { ifVersion: version })).bytes
  } catch (thrown) {
    throw changedMeanwhile(thrown, path)
  }
}
