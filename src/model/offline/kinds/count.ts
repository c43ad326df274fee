import { omitUndefined } from '../../../tool/omit-undefined.js'
import { call, done, failureOf, type Kind, type Plan } from '../plan.js'
import { looksLikeGlob, looksLikePath, quotedIn, splitPlace, unquoted } from '../sentence.js'
import { literal } from './find.js'

const opening = /^(?:count|how\s+many(?:\s+times)?)\s+(?:the\s+|number\s+of\s+)*/i

/** Counts occurrences of a text in files, files by name, or the lines of a file. */
export const count: Kind = {
  examples: ['count TODO in src', 'how many *.ts files are there', 'count lines in README.md'],
  understand(sentence) {
    if (!opening.test(sentence)) return undefined
    const asked = sentence
      .replace(opening, '')
      .replace(/^(?:do(?:es)?|is|are)\s+/i, '')
      .replace(/\s+(?:are|is)\s+there\b/i, '')
      .replace(
        /\s+(?:occurs?|appears?|(?:is|are)\s+(?:used|mentioned)|do\s+(?:we|i|you)\s+have|does\s+\S+\s+have|exist)\b/i,
        '',
      )
    const { rest, place } = splitPlace(asked)
    if (/^lines?$/i.test(rest)) return place === undefined ? undefined : countLines(place)
    const files = /^(?:(\S+)\s+)?files?(?:\s+(?:named|matching)\s+(\S+))?$/i.exec(rest)
    if (files !== null) return countFiles(unquoted(files[2] ?? files[1] ?? '*'), place)
    const what =
      quotedIn(rest)[0] ??
      unquoted(rest.replace(/^(?:occurrences?|uses?|matches|lines?)\s+(?:of|with|for)\s+/i, ''))
    return what === '' ? undefined : countText(what, place)
  },
}

function countText(what: string, place: string | undefined): Plan {
  const where = place === undefined ? '' : ` in ${place}`
  return ([found]) => {
    if (found === undefined) {
      const args = { pattern: literal(what), output_mode: 'count', ...within(place) }
      return call('grep', args, `Counting "${what}"${where}.`)
    }
    if (found.failed) return failureOf(found, `counting "${what}"`)
    const total = /(at least )?(\d+) match\(es\) in (\d+) file\(s\)/.exec(found.text)
    if (total === null) return done(`"${what}" does not occur${where}.`)
    return done(
      `"${what}" occurs ${total[1] ?? ''}${total[2]} times${where}, in ${total[3]} ${total[3] === '1' ? 'file' : 'files'}.`,
    )
  }
}

/** Counts the lines of a file with a pattern that matches every line. */
function countLines(path: string): Plan {
  return ([found]) => {
    if (found === undefined)
      return call('grep', { pattern: '^', output_mode: 'count', path }, `Counting the lines of ${path}.`)
    if (found.failed) return failureOf(found, `counting the lines of ${path}`)
    const total = /(at least )?(\d+) match\(es\)/.exec(found.text)
    return done(`${path} has ${total?.[1] ?? ''}${total?.[2] ?? 0} lines.`)
  }
}

function countFiles(kind: string, place: string | undefined): Plan {
  const pattern = patternOf(kind)
  return ([found]) => {
    if (found === undefined)
      return call(
        'glob',
        { pattern, ...omitUndefined({ path: place }) },
        `Counting files that match ${pattern}.`,
      )
    if (found.failed) return failureOf(found, `counting files that match ${pattern}`)
    const total = /of (at least )?(\d+) file\(s\) shown/.exec(found.text)
    return done(
      `There are ${total?.[1] ?? ''}${total?.[2] ?? 0} files that match ${pattern}${place === undefined ? '' : ` in ${place}`}.`,
    )
  }
}

/** `ts`, `.ts` and `*.ts` are equal. */
function patternOf(kind: string): string {
  if (looksLikeGlob(kind) || looksLikePath(kind.replace(/^\./, ''))) return kind
  return `*.${kind.replace(/^\./, '').toLowerCase()}`
}

function within(place: string | undefined): { path?: string; glob?: string } {
  if (place === undefined) return {}
  return looksLikeGlob(place) ? { glob: place } : { path: place }
}
