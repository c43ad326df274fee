import type { ElementNode, TransformPlugin } from '@mdream/js'
import { decodeEntities } from '../html-text.js'
import { visibleLine, visibleText } from '../untrusted-text.js'

export type ReadableOptions = { readonly format: 'markdown' | 'text'; readonly baseUrl: string }
export type ReadablePage = {
  readonly text: string
  readonly title?: string | undefined
  /** The page is longer than the part that was converted. */
  readonly cut: boolean
}

/** Conversion blocks the thread: about half a second for a million characters, and at most two seconds. */
const maxCharacters = 1_000_000

/**
 * Returns the readable part of a page: its main element or only article if it has one, otherwise everything except
 * navigation and similar parts. No scripts, no comments, no text that is hidden by attribute or inline style; links
 * only to http, https and mailto.
 */
export async function readableHtml(html: string, options: ReadableOptions): Promise<ReadablePage> {
  const { htmlToMarkdown } = await import('@mdream/js')
  const whole = withoutRawText(html)
  const page = withoutDeepNesting(whole.slice(0, maxCharacters))
  const convert = (keep: MainElement | undefined): string => {
    try {
      return htmlToMarkdown(page, {
        format: options.format,
        clean: { blankLines: true, emptyLinks: true, emptyLinkText: true, emptyImages: true },
        hooks: [reader(options.baseUrl, keep)],
      })
    } catch {
      // A malformed page still contains text.
      return withoutTags(page)
    }
  }
  const main = mainElement(page)
  const text = main === undefined ? '' : visibleText(convert(main)).trim()
  const title = titleOf(page)
  return {
    // A main element that scripts would fill can be empty; the rest of the page may have text.
    text: text.length >= minMainLength ? text : longer(text, visibleText(convert(undefined)).trim()),
    ...(title === '' ? {} : { title }),
    cut: whole.length > maxCharacters,
  }
}

const minMainLength = 200

function longer(a: string, b: string): string {
  return a.length * 2 >= b.length && a !== '' ? a : b
}

/**
 * Removes scripts, styles and comments, which can be most of a page and are not part of its text. In one pass; an
 * element that is never closed ends the page, as in a browser.
 */
function withoutRawText(html: string): string {
  const start = /<(?:!--|(script|style)(?=[\s/>]))/gi
  const ends = { comment: /--!?>/g, script: /<\/script\b[^>]*>?/gi, style: /<\/style\b[^>]*>?/gi }
  const kept: string[] = []
  let from = 0
  for (let found = start.exec(html); found !== null; found = start.exec(html)) {
    kept.push(html.slice(from, found.index), ' ')
    const name = found[1]?.toLowerCase()
    const end = name === 'script' || name === 'style' ? ends[name] : ends.comment
    // `<!-->` is a complete comment.
    end.lastIndex = name === undefined ? found.index + 2 : start.lastIndex
    const closed = end.exec(html)
    if (closed === null) return kept.join('')
    from = closed.index + closed[0].length
    start.lastIndex = from
  }
  kept.push(html.slice(from))
  return kept.join('')
}

/** Quotes have a lower limit because each level rewrites every line in it, which makes them the most expensive. */
const deepest = { quote: 3, other: 8 } as const

/**
 * Removes the tags of quotes, lists and code that are nested deeper than any reader follows. Each level adds its mark
 * to every line below it, so a small page could expand to a text that fills the memory.
 */
function withoutDeepNesting(page: string): string {
  const open = { quote: { depth: 0, left: 0 }, other: { depth: 0, left: 0 } }
  const tags = /<(\/?)(?:(blockquote)|ul|ol|menu|dir|code)(?=[\s/>])[^<>]*>?/gi
  return page.replace(tags, (tag: string, close: string, quote: string | undefined) => {
    const kind = quote === undefined ? 'other' : 'quote'
    const state = open[kind]
    if (close === '' ? state.depth >= deepest[kind] : state.left > 0) {
      state.left += close === '' ? 1 : -1
      return ' '
    }
    state.depth = Math.max(0, state.depth + (close === '' ? 1 : -1))
    return tag
  })
}

function withoutTags(page: string): string {
  return decodeEntities(page.replace(/<[^<>]*>/g, ' ')).replace(/[^\S\n]+/g, ' ')
}

function titleOf(page: string): string {
  const at = page.search(/<title[\s>]/i)
  if (at < 0) return ''
  const head = page.slice(at, at + 2_000)
  const inner = /^<title[^>]*>([^<]*)/i.exec(head)?.[1] ?? ''
  return visibleLine(decodeEntities(inner), 200)
}

type MainElement = 'main' | 'article'

function mainElement(page: string): MainElement | undefined {
  if (/<main[\s>]|\srole\s*=\s*["']?main\b/i.test(page)) return 'main'
  const first = page.search(/<article[\s>]/i)
  return first >= 0 && !/<article[\s>]/i.test(page.slice(first + 1)) ? 'article' : undefined
}

const neverText = new Set(
  'script style noscript template svg canvas iframe object embed audio video select button dialog input textarea title'.split(
    ' ',
  ),
)
const aroundText = new Set(['nav', 'header', 'footer', 'aside', 'menu'])

/** Decides for each element whether its text is included. */
function reader(baseUrl: string, keep: MainElement | undefined): TransformPlugin {
  const outside = new WeakSet<ElementNode>()
  const inside = new WeakSet<ElementNode>()
  const isOutside = (element: ElementNode): boolean => {
    if (outside.has(element)) return true
    const { parent } = element
    if (parent && inside.has(parent)) inside.add(element)
    else if (keep !== undefined && isMain(element, keep)) inside.add(element)
    const skip =
      (parent ? outside.has(parent) : false) ||
      neverText.has(element.name) ||
      (aroundText.has(element.name) && keep === undefined) ||
      isHidden(element)
    if (skip) outside.add(element)
    return skip
  }
  return {
    excludesOverflowSubtree: isOutside,
    beforeNodeProcess({ node }) {
      if (node.type === elementNode) {
        const element = node as ElementNode
        return isOutside(element) || (keep !== undefined && !inside.has(element)) ? { skip: true } : undefined
      }
      const { parent } = node
      if (!parent) return keep === undefined ? undefined : { skip: true }
      return outside.has(parent) || (keep !== undefined && !inside.has(parent)) ? { skip: true } : undefined
    },
    processAttributes({ attributes, name }) {
      const from = name === 'a' ? 'href' : name === 'img' ? 'src' : undefined
      if (from === undefined || attributes[from] === undefined) return
      attributes[from] = followable(attributes[from], baseUrl)
    },
  }
}

const elementNode = 1

function isMain({ name, attributes }: ElementNode, keep: MainElement): boolean {
  return name === keep || (keep === 'main' && attributes['role']?.toLowerCase() === 'main')
}

function isHidden({ attributes }: ElementNode): boolean {
  if (attributes['hidden'] !== undefined) return true
  const style = attributes['style']
  return style !== undefined && hiddenStyle.test(style.slice(0, 2_000))
}

const hiddenStyle =
  /(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|(?:opacity|font-size)\s*:\s*0+(?:\.0+)?(?:px|r?em|%|pt)?\s*(?:;|!|$))/i

/** Returns a complete link that another fetch could follow; empty for scripts, inline data and invalid URLs. */
function followable(link: string, baseUrl: string): string {
  if (link.length > 4_000 || !URL.canParse(link, baseUrl)) return ''
  const url = new URL(link, baseUrl)
  if (url.protocol === 'mailto:') return link
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return ''
  if (link.startsWith('#')) return link
  url.username = ''
  url.password = ''
  return url.href
}
