import { block, call, done, failureOf, filesIn, type Plan, type Result, undone } from './plan.js'

/** Searches for the exact text, then case-insensitively, then for file names. */
export function findText(what: string, place: string | undefined): Plan {
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
    return done(`No text matches "${what}", but these files are named so:\n\n${block(names.text, 20)}`)
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

/** Returns the best match: definitions before uses, and sources before tests and documents. */
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
      : `\n\nIt is also in:\n\n${block(others.map(({ path, line, text }) => `${path}:${line}: ${text.trim()}`).join('\n'), 10)}`
  return `"${what}" is in ${best.path}:${best.line}${count === undefined ? '' : ` (${count})`}:\n\n${block(read.text, 14)}${more}`
}

/** Returns the pattern that matches exactly this text. */
export function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
