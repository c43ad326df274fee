/** A fenced code block of a Markdown file. */
export type Block = {
  readonly file: string
  /** The line of its opening fence, from 1. */
  readonly line: number
  /** The first word after the opening fence; empty when there is none. */
  readonly language: string
  /** The words after it. */
  readonly words: readonly string[]
  readonly code: string
}

/** A block to try, with what it must print when the document says so. */
export type Trial = { readonly block: Block; readonly output?: Block }

type Fence = {
  readonly mark: string
  readonly quotes: number
  readonly indent: number
  readonly line: number
}

// Before a fence may stand the indentation of a list, the mark of its first item, and the `>` of a quotation.
const opening = /^((?:[ \t>]|[-*+][ \t]|\d+[.)][ \t])*)(?:(`{3,})([^`]*)|(~{3,})(.*))$/

/** Finds every fenced block, also in lists and quotations. A longer fence holds shorter ones as its text. */
export function extractBlocks(file: string, markdown: string): Block[] {
  const blocks: Block[] = []
  let fence: Fence | undefined
  let info: string[] = []
  let code: string[] = []
  for (const [at, line] of markdown.split(/\r?\n/).entries()) {
    if (fence === undefined) {
      const [, before = '', ticks, ticksInfo, tildes, tildesInfo] = opening.exec(line) ?? []
      const mark = ticks ?? tildes
      if (mark === undefined) continue
      fence = { mark, quotes: before.split('>').length - 1, indent: indentOf(before), line: at + 1 }
      info = (ticksInfo ?? tildesInfo ?? '').trim().split(/\s+/)
      code = []
    } else if (closes(fence, line)) {
      const [language = '', ...words] = info
      blocks.push({ file, line: fence.line, language, words, code: code.map((each) => `${each}\n`).join('') })
      fence = undefined
    } else code.push(contentOf(fence, line))
  }
  if (fence !== undefined) throw new Error(`${file}:${fence.line} opens a code block that is never closed`)
  return blocks
}

/** Puts each `text output` to the block right before it, whose output it shows. */
export function pairOutputs(blocks: readonly Block[]): Trial[] {
  return blocks.flatMap((block, at) => {
    if (isOutput(block)) {
      const before = blocks[at - 1]
      if (before === undefined || before.file !== block.file || !tried.includes(before.language)) {
        throw new Error(
          `${placeOf(block)} shows the output of nothing: it must follow a ${tried.join(', ')} block`,
        )
      }
      return []
    }
    const next = blocks[at + 1]
    return [
      next !== undefined && next.file === block.file && isOutput(next) ? { block, output: next } : { block },
    ]
  })
}

export function placeOf({ file, line }: Block): string {
  return `${file}:${line}`
}

const tried = ['ts', 'js', 'mjs', 'sh', 'acl']

function isOutput({ language, words }: Block): boolean {
  return language === 'text' && words[0] === 'output'
}

function closes({ mark, quotes }: Fence, line: string): boolean {
  const rest = withoutQuotes(line, quotes).trim()
  return rest.length >= mark.length && rest === mark.charAt(0).repeat(rest.length)
}

/** A line of a block without what belongs to the list or the quotation around it. */
function contentOf({ quotes, indent }: Fence, line: string): string {
  const rest = withoutQuotes(line, quotes)
  const own = rest.length - rest.trimStart().length
  return rest.slice(Math.min(own, indent))
}

function withoutQuotes(line: string, quotes: number): string {
  let rest = line
  for (let left = quotes; left > 0; left--) rest = rest.replace(/^\s*> ?/, '')
  return rest
}

/** How far a fence is from the edge of the quotation it is in, or of the page. */
function indentOf(before: string): number {
  const afterQuotes = before.slice(before.lastIndexOf('>') + 1)
  return before.includes('>') ? afterQuotes.replace(/^ /, '').length : afterQuotes.length
}
