import { isRecord } from '../tool/json.js'

/** The title of a call in the editor: what the tool is called, and the argument that describes the call best. */
export function callTitle(title: string, args: unknown): string {
  const fields = isRecord(args) ? args : {}
  const about = describingFields.map((name) => fields[name]).find((value) => typeof value === 'string')
  return about === undefined ? oneLine(title) : oneLine(`${title}: ${about}`)
}

/** The arguments that describe a call, in order of preference. */
const describingFields = [
  'command',
  'file_path',
  'path',
  'pattern',
  'query',
  'url',
  'description',
  'name',
  'prompt',
]

/**
 * A text of the model as one line. Control and format characters are removed: they could change how the text before an
 * approval reads.
 */
export function oneLine(text: string): string {
  const line = text
    .slice(0, 2 * maxLength)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line
}

const maxLength = 300
