import type { Token } from 'marked'
import type { Colors } from '../../terminal/colors.js'

/** What stands inside a paragraph, with styles. The text was made safe before it was taken apart. */
export function inline(tokens: readonly Token[] | undefined, colors: Colors): string {
  return (tokens ?? []).map((token) => piece(token, colors)).join('')
}

function piece(token: Token, colors: Colors): string {
  const inner = (): string =>
    'tokens' in token && token.tokens !== undefined
      ? inline(token.tokens, colors)
      : plainText('text' in token ? String(token.text) : token.raw)
  switch (token.type) {
    case 'strong':
      return colors.bold(inner())
    case 'em':
      return colors.italic(inner())
    case 'del':
      return colors.strikethrough(inner())
    case 'codespan':
      return colors.cyan(String(token['text']))
    case 'br':
      return '\n'
    case 'link':
      return withTarget(inner(), String(token['href']), colors)
    // Nothing is ever fetched for a picture: it is told where it would be.
    case 'image':
      return withTarget(`[${String(token['text']) || 'image'}]`, String(token['href']), colors)
    case 'checkbox':
      return token['checked'] === true ? '[x] ' : '[ ] '
    case 'escape':
    case 'text':
      return inner()
    default:
      return plainText(token.raw)
  }
}

/** The address is written out: a text that names one place may lead to another. */
function withTarget(text: string, target: string, { underline, dim }: Colors): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: styles of our own
  const bare = text.replace(/\x1b\[\d+m/g, '')
  if (target === '' || bare === target || `mailto:${bare}` === target) return underline(text)
  return `${underline(text)} ${dim(`(${target})`)}`
}

/** Only names that stand for signs of writing: a number could stand for anything. */
function plainText(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|nbsp|#39);/g, (written, name: string) => signs[name] ?? written)
}

const signs: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  nbsp: ' ',
  '#39': "'",
}
