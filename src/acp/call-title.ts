import { isRecord } from '../tool/json.js'
import { describingArgument } from '../tool/tool-title.js'

/** Returns the title of a call in the editor: the tool's title and the argument that describes the call best. */
export function callTitle(title: string, args: unknown): string {
  const about = isRecord(args) ? describingArgument(args) : undefined
  return about === undefined ? oneLine(title) : oneLine(`${title}: ${about}`)
}

/**
 * Converts text of the model to one line. Control and format characters are removed: they could change how the text
 * of an approval reads.
 */
export function oneLine(text: string): string {
  const line = text
    .slice(0, 2 * maxLength)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line
}

const maxLength = 300
