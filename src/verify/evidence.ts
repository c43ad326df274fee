import type { VerificationEvidence } from '../store/verification.js'
import { omitUndefined } from '../tool/omit-undefined.js'

const headLength = 2_000
const tailLength = 6_000

/** Puts a text aside and gives the path of its file. */
export type KeepOutput = (label: string, text: string) => Promise<string>

/** The beginning and the end of an output, where failures show, with the whole in a file when that is not all. */
export async function evidenceOf(
  text: string,
  known: { readonly bytes?: number; readonly path?: string },
  keep: KeepOutput,
): Promise<VerificationEvidence> {
  const bytes = known.bytes ?? Buffer.byteLength(text)
  if (text.length <= headLength + tailLength)
    return { head: text, bytes, ...omitUndefined({ output_path: known.path }) }
  const head = wholeCharacters(text.slice(0, headLength))
  const tail = wholeCharacters(text.slice(-tailLength))
  const path = known.path ?? (await keep('verification', text).catch(() => undefined))
  return { head, tail, bytes, ...omitUndefined({ output_path: path }) }
}

/** Without the half of a character at either end. */
function wholeCharacters(text: string): string {
  return text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
}
