import { omitUndefined } from '../../../tool/omit-undefined.js'
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
import { looksLikeGlob, quotedIn, splitPlace, unquoted } from '../sentence.js'

const opening =
  /^(?:find|search(?:\s+for)?|look(?:\s+for)?|grep(?:\s+for)?|locate|where(?:'s|\s+is|\s+are|\s+do(?:es)?)?|which files?\s+(?:contains?|has|have|uses?|mentions?)|what\s+(?:uses|mentions|contains))\s+/i

/** Finds where something is in the files: the place, the text around it, and the number of other places. */
export const find: Kind = {
  examples: ['find createServer', 'where is "parse arguments" in src', 'find files named *.md'],
  understand(sentence) {
    if (!opening.test(sentence)) return undefined
    const { rest, place } = splitPlace(sentence.replace(opening, ''))
    const what = wanted(rest)
    if (what === '') return undefined
    return looksLikeGlob(what) ? findFiles(what, place) : findText(what, place)
  },
}

function wanted(rest: string): string {
  const [first] = quotedIn(rest)
  if (first !== undefined) return first
  return unquoted(
    rest
      .replace(
        /^(?:the\s+|all\s+|any\s+|every\s+)*(?:files?\s+(?:named|called|matching|like)\s+|(?:text|word|string|symbol|function|class|method|variable|constant|type|definition of|uses? of|usages? of|occurrences? of|places? (?:of|with)|lines? with)\s+)?/i,
        '',
      )
      .replace(
        /\s+(?:is\s+)?(?:defined|declared|used|implemented|called|mentioned|located|come from|live|files?)$/i,
        '',
      ),
  )
}

function findFiles(pattern: string, place: string | undefined): Plan {
  return ([found]) => {
    if (found === undefined)
      return call(
        'glob',
        { pattern, ...omitUndefined({ path: place }) },
        `Looking for files named ${pattern}.`,
      )
    if (found.failed) return failureOf(found, `looking for files named ${pattern}`)
    if (filesIn(found.text).length === 0) return done(`There is no file that matches ${pattern}.`)
    return done(`Files that match ${pattern}:\n\n${indented(excerpt(found.text, 40))}`)
  }
}

/** Searches for the exact text, then without case, then for file names. */
function findText(what: string, place: string | undefined): Plan {
  const within = place === undefined ? {} : { path: place }
  const pattern = literal(what)
  return (results) => {
    const failed = results.find((result) => result.failed)
    if (failed !== undefined) return failureOf(failed, `looking for "${what}"`)
    const searches = results.filter(({ tool }) => tool === 'grep')
    const hits = hitsIn(searches.at(-1))
    const best = bestHit(hits, what)
    if (best !== undefined) {
      const read = results.find(({ tool }) => tool === 'read')
      if (read === undefined)
        return call(
          'read',
          { file_path: best.path, offset: Math.max(0, best.line - 4), limit: 12 },
          `Found it in ${best.path}; reading around line ${best.line}.`,
        )
      return done(describeHits(what, best, hits, read, searches.at(-1)))
    }
    if (searches.length === 0) return call('grep', { pattern, ...within }, `Searching for "${what}".`)
    if (searches.length === 1)
      return call(
        'grep',
        { pattern, ...within, ignore_case: true },
        `No exact match for "${what}"; searching regardless of case.`,
      )
    const names = results.find(({ tool }) => tool === 'glob')
    if (names === undefined && !/[\s/\\]/.test(what))
      return call(
        'glob',
        { pattern: `*${what.replace(/[[\]{}*?]/g, '?')}*`, ...within },
        'No text matches; looking at the names of files.',
      )
    if (names === undefined || filesIn(names.text).length === 0)
      return undone(
        `I found "${what}" neither in the text of the files nor in their names${place === undefined ? '' : ` under ${place}`}.`,
      )
    return done(
      `No text matches "${what}", but these files are named so:\n\n${indented(excerpt(names.text, 20))}`,
    )
  }
}

type Hit = { readonly path: string; readonly line: number; readonly text: string }

/** Parses matching lines of the form `>path:line: text`. */
function hitsIn(search: Result | undefined): Hit[] {
  const lines = search?.text.split('\n') ?? []
  return lines.flatMap((each) => {
    const found = /^>(.+?):(\d+): ?(.*)$/.exec(each)
    return found === null ? [] : [{ path: found[1] ?? '', line: Number(found[2]), text: found[3] ?? '' }]
  })
}

/** Prefers a definition to a use, and sources to tests and documents. */
function bestHit(hits: readonly Hit[], what: string): Hit | undefined {
  const defines = new RegExp(
    `\\b(?:function|class|const|let|var|interface|type|enum|def|fn|func|struct|trait|module|package)\\*?\\s+${literal(what)}\\b`,
  )
  const score = ({ path, text }: Hit): number =>
    (defines.test(text) ? 4 : 0) +
    (/(?:^|\/)tests?\/|\.(?:test|spec)\./.test(path) ? 0 : 2) +
    (/\.(?:md|txt|json|lock)$/.test(path) ? 0 : 1)
  let best: Hit | undefined
  for (const hit of hits) if (best === undefined || score(hit) > score(best)) best = hit
  return best
}

function describeHits(
  what: string,
  best: Hit,
  hits: readonly Hit[],
  read: Result,
  search: Result | undefined,
): string {
  const others = hits.filter((hit) => hit !== best)
  const count = /(?:at least )?\d+ match\(es\) in \d+ file\(s\)/.exec(search?.text ?? '')?.[0]
  const more =
    others.length === 0
      ? ''
      : `\n\nIt is also in:\n\n${indented(excerpt(others.map(({ path, line, text }) => `${path}:${line}: ${text.trim()}`).join('\n'), 10))}`
  return `"${what}" is in ${best.path}:${best.line}${count === undefined ? '' : ` (${count})`}:\n\n${indented(excerpt(read.text, 14))}${more}`
}

/** Returns the pattern that matches exactly this text. */
export function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
