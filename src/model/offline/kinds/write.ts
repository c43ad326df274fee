import { call, done, failureOf, type Kind } from '../plan.js'
import { term, unquoted } from '../sentence.js'

const quoted = '"[^"]*"|“[^”]*”|\'[^\']*\'|`[^`]*`'
const forms = [
  new RegExp(
    `^(?:create|make|write|add)\\s+(?:a\\s+|the\\s+)?(?:new\\s+)?(?:file\\s+)?(?:named\\s+|called\\s+)?(?<file>${term})\\s+(?:with|containing|that says|saying)\\s+(?:the\\s+)?(?:text\\s+|content\\s+)?(?<text>${quoted})$`,
    'i',
  ),
  new RegExp(
    `^(?:write|put|save)\\s+(?<text>${quoted})\\s+(?:to|into|in)\\s+(?:a\\s+|the\\s+)?(?:new\\s+)?(?:file\\s+)?(?:named\\s+|called\\s+)?(?<file>${term})$`,
    'i',
  ),
]

/** Writes a file with a text. */
export const write: Kind = {
  examples: ['create notes.txt with "first line"'],
  understand(sentence) {
    const found = forms.map((form) => form.exec(sentence)?.groups).find((groups) => groups !== undefined)
    if (found === undefined) return undefined
    const file = unquoted(found['file'] ?? '')
    const text = unquoted(found['text'] ?? '')
    return ([written]) => {
      if (written === undefined)
        return call(
          'write',
          { file_path: file, content: text.endsWith('\n') ? text : `${text}\n` },
          `Writing ${file}.`,
        )
      if (written.failed) return failureOf(written, `writing ${file}`)
      return done(`I wrote ${file}. ${written.text.trim()}`)
    }
  },
}
