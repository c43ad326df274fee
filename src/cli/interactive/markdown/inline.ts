import type { Token } from 'marked'
import type { Colors } from '../../terminal/colors.js'
import { safeText } from '../../terminal/safe-text.js'

/** Formats the content of a paragraph. Text is escaped again here, because `&#27;` has become an escape character. */
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
      return colors.cyan(safeText(String(token['text'])))
    case 'br':
      return '\n'
    case 'link':
      return withTarget(inner(), safeText(String(token['href'])), colors)
    // Images are not fetched: their URL is shown.
    case 'image':
      return withTarget(
        `[${safeText(String(token['text'])) || 'image'}]`,
        safeText(String(token['href'])),
        colors,
      )
    case 'checkbox':
      return token['checked'] === true ? '[x] ' : '[ ] '
    case 'escape':
    case 'text':
      return inner()
    default:
      return plainText(token.raw)
  }
}

/** Shows the URL of a link, because its text can name another one. */
function withTarget(text: string, target: string, { underline, dim }: Colors): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: styles of our own
  const bare = text.replace(/\x1b\[\d+m/g, '')
  if (target === '' || bare === target || `mailto:${bare}` === target) return underline(text)
  return `${underline(text)} ${dim(`(${target})`)}`
}

function plainText(text: string): string {
  return safeText(
    text.replace(/&(amp|lt|gt|quot|nbsp|#39);/g, (written, name: string) => signs[name] ?? written),
  )
}

const signs: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  nbsp: ' ',
  '#39': "'",
}
