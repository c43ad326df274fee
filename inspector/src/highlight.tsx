import type { ComponentChildren } from 'preact'

/** Longer lines are shown in one color. */
const maxLine = 2_000

/**
 * The words of one line of code as text nodes in colored elements. It recognizes comments, strings, numbers and keywords
 * of common languages, by the name of the file or of the language; other text is not colored.
 */
export function highlighted(line: string, language: string | undefined): ComponentChildren {
  const pattern = language === undefined ? undefined : patternOf(language)
  if (pattern === undefined || line.length > maxLine) return line
  const pieces: ComponentChildren[] = []
  let end = 0
  for (const match of line.matchAll(pattern)) {
    const kind = Object.keys(match.groups ?? {}).find((name) => match.groups?.[name] !== undefined)
    const [text] = match
    if (kind === 'word' && !keywords.has(text)) continue
    pieces.push(line.slice(end, match.index))
    pieces.push(<span class={`code-${kind}`}>{text}</span>)
    end = match.index + text.length
  }
  return pieces.length === 0 ? line : [...pieces, line.slice(end)]
}

/** The language of a file: what follows the last dot of its name. */
export function languageOf(path: string): string | undefined {
  return /\.(\w{1,10})$/.exec(path.trim())?.[1]?.toLowerCase()
}

const slashes = [
  'js',
  'jsx',
  'mjs',
  'cjs',
  'ts',
  'tsx',
  'mts',
  'cts',
  'javascript',
  'typescript',
  'java',
  'go',
]
const moreSlashes = [
  'rs',
  'rust',
  'c',
  'h',
  'cc',
  'cpp',
  'hpp',
  'cs',
  'kt',
  'swift',
  'php',
  'scss',
  'json',
  'jsonc',
]
const hashes = [
  'py',
  'python',
  'rb',
  'ruby',
  'sh',
  'bash',
  'zsh',
  'shell',
  'yaml',
  'yml',
  'toml',
  'acl',
  'conf',
]
const dashes = ['sql', 'lua', 'hs']

const comments = new Map([
  ...[...slashes, ...moreSlashes].map((name) => [name, '\\/\\/.*|\\/\\*.*?(?:\\*\\/|$)'] as const),
  ...hashes.map((name) => [name, '(?<=^|\\s)#.*'] as const),
  ...dashes.map((name) => [name, '--.*'] as const),
  ['css', '\\/\\*.*?(?:\\*\\/|$)'] as const,
])
const patterns = new Map<string, RegExp>()

function patternOf(language: string): RegExp | undefined {
  const comment = comments.get(language)
  if (comment === undefined) return undefined
  const known = patterns.get(language)
  if (known !== undefined) return known
  const strings = '"(?:\\\\.|[^"\\\\])*"|\'(?:\\\\.|[^\'\\\\])*\'|`(?:\\\\.|[^`\\\\])*`'
  const numbers = '\\b(?:0x[\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?)\\b'
  const pattern = new RegExp(
    `(?<comment>${comment})|(?<string>${strings})|(?<number>${numbers})|(?<word>\\b[A-Za-z_]+\\b)`,
    'g',
  )
  patterns.set(language, pattern)
  return pattern
}

const keywords: ReadonlySet<string> = new Set(
  `abstract and as async await bool boolean break case catch class const continue def default defer del do done echo elif
else end enum esac except export extends false False fi final finally fn for from func function go goto if impl implements
import in int interface is lambda let loop match mod module mut namespace new nil none None not null number of or package
pass private protected pub public raise readonly return self select static string struct super switch then this throw trait
true True try type typeof undefined union unless until use using val var void when where while with yield SELECT FROM WHERE
INSERT UPDATE DELETE INTO VALUES CREATE TABLE AND OR NOT NULL JOIN ON ORDER BY GROUP LIMIT SET`.split(/\s+/),
)
