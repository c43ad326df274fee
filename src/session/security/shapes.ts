/** The kinds of secrets that can be found in a text by their form alone. */
export const secretKinds = [
  'API_KEY',
  'AWS_KEY',
  'GITHUB_TOKEN',
  'JWT',
  'PRIVATE_KEY',
  'AUTH_HEADER',
  'URL_PASSWORD',
] as const
export const personalKinds = ['SSN', 'EMAIL', 'PHONE', 'CC'] as const

/** A kind of data that can be redacted. */
export type RedactionKind = (typeof secretKinds)[number] | (typeof personalKinds)[number]

export function isRedactionKind(kind: unknown): kind is RedactionKind {
  return typeof kind === 'string' && Object.hasOwn(shapes, kind)
}

/** Returns the text with everything of these kinds replaced by a mark. */
export function redactShapes(text: string, kinds: readonly RedactionKind[]): string {
  // Most texts of a record are names and ids, and few of the others contain a hint: one search instead of one per kind.
  if (kinds.length === 0 || text.length < minShapeLength || hintsOf(kinds)?.test(text) === false) return text
  return kinds.reduce((current, kind) => redactShape(current, kind, shapes[kind]), text)
}

/**
 * Whether no text inside a JSON text contains anything of these kinds. Hints have no character that JSON escapes, so
 * each is in the JSON text too. False: one of the texts may contain something.
 */
export function isCleanJson(json: string, kinds: readonly RedactionKind[]): boolean {
  return kinds.length === 0 || hintsOf(kinds)?.test(json) === false
}

export function markFor(kind: string): string {
  return `[REDACTED:${kind}]`
}

/**
 * A form of secrets. Every expression takes time linear in the length of the text: each starts only after a character
 * that cannot belong to it, so that a sequence is not tried from each of its characters, and repeats only single
 * characters. `hints` are strings of which a match contains at least one.
 */
type Shape = {
  readonly hints?: readonly string[]
  readonly pattern: RegExp
  /** Confirms a match. A group in the pattern is text before the match that is not redacted. */
  readonly check?: (found: string) => boolean
}

/** The length of the shortest text that can match a form: an email address such as `a@b.co`. */
const minShapeLength = 6

/** Returns an expression that finds a hint of any of these kinds; undefined when one of them has no hints. */
function hintsOf(kinds: readonly RedactionKind[]): RegExp | undefined {
  const known = hintsOfKinds.get(kinds)
  if (known !== undefined) return known.pattern
  const hints = kinds.map((kind) => shapes[kind].hints)
  const literals = hints.flatMap((some) => some ?? []).map((hint) => hint.replace(/[/.]/g, '\\$&'))
  const pattern = hints.includes(undefined) ? undefined : new RegExp(literals.join('|'))
  hintsOfKinds.set(kinds, { pattern })
  return pattern
}

const hintsOfKinds = new WeakMap<readonly RedactionKind[], { readonly pattern: RegExp | undefined }>()

const apiKeys = [
  'sk-[A-Za-z0-9_-]{20,}',
  '[rs]k_(?:live|test)_[A-Za-z0-9]{16,}',
  'xox[abeoprs]-[A-Za-z0-9-]{10,}',
  'xapp-[A-Za-z0-9-]{10,}',
  'AIza[A-Za-z0-9_-]{35}',
  'glpat-[A-Za-z0-9_-]{20,}',
  'npm_[A-Za-z0-9]{36}',
  'pypi-[A-Za-z0-9_-]{50,}',
  'hf_[A-Za-z0-9]{30,}',
  'gsk_[A-Za-z0-9]{30,}',
  'xai-[A-Za-z0-9]{30,}',
  'dop_v1_[a-f0-9]{64}',
  'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}',
  'SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}',
  'AGE-SECRET-KEY-1[A-Z0-9]{58}',
]

const shapes: Readonly<Record<RedactionKind, Shape>> = {
  PRIVATE_KEY: {
    hints: ['PRIVATE KEY'],
    pattern: /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g,
  },
  GITHUB_TOKEN: {
    hints: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'],
    pattern: /(?<![A-Za-z0-9_])(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})/g,
  },
  AWS_KEY: {
    hints: ['AKIA', 'ASIA', 'aws_secret', 'AWS_SECRET', 'SecretAccessKey', 'secretAccessKey'],
    pattern:
      /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])|((?:aws_secret_access_key|AWS_SECRET_ACCESS_KEY|[sS]ecretAccessKey)["']?\s{0,4}[:=]\s{0,4}["']?)[A-Za-z0-9/+=]{40}(?![A-Za-z0-9/+=])/g,
  },
  JWT: {
    hints: ['eyJ'],
    pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}/g,
  },
  API_KEY: {
    hints: [
      ...[
        'sk-',
        'k_live_',
        'k_test_',
        'xox',
        'xapp-',
        'AIza',
        'glpat-',
        'npm_',
        'pypi-',
        'hf_',
        'gsk_',
        'xai-',
      ],
      ...['dop_v1_', 'shpat_', 'shpca_', 'shppa_', 'shpss_', 'SG.', 'AGE-SECRET-KEY-1'],
    ],
    pattern: new RegExp(`(?<![A-Za-z0-9_-])(?:${apiKeys.join('|')})`, 'g'),
    // Identifiers consist of words; a key has digits.
    check: (found) => (found.match(/\d/g) ?? []).length >= 2,
  },
  AUTH_HEADER: {
    hints: ['earer', 'EARER', 'uthorization'],
    pattern:
      /((?<![A-Za-z0-9])(?:[Bb]earer|BEARER)[ \t]{1,4}|[Aa]uthorization["']?[ \t]{0,4}[:=][ \t]{0,4}["']?[Bb]asic[ \t]{1,4})[A-Za-z0-9._~+/=-]{12,}/g,
    check: (found) => /\d/.test(found),
  },
  URL_PASSWORD: {
    hints: ['://'],
    pattern:
      /((?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,20}:\/\/[^\s/?#@:"'<>]{0,64}:)[^\s/?#@"'<>]{1,256}(?=@)/g,
  },
  SSN: { pattern: /(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])/g },
  EMAIL: {
    hints: ['@'],
    pattern:
      /(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])/g,
  },
  PHONE: {
    pattern:
      /(?<![\w.+-])(?:\+\d{8,15}|(?:\+\d{1,3}[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4})(?![\w-])/g,
  },
  CC: { pattern: /(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])/g, check: isCardNumber },
}

function redactShape(text: string, kind: RedactionKind, { hints, pattern, check }: Shape): string {
  if (hints !== undefined && !hints.some((hint) => text.includes(hint))) return text
  if (kind === 'PRIVATE_KEY') return redactPrivateKeys(text, pattern)
  const mark = markFor(kind)
  return text.replace(pattern, (found: string, before: unknown) => {
    if (check !== undefined && !check(found)) return found
    return typeof before === 'string' ? before + mark : mark
  })
}

const keyEnd = /-----END [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?-----/g
const maxKeyLength = 16 * 1024
/** The characters that are possible between the first and the last line, also in the source code of a program. */
const keyText = /^[A-Za-z0-9+/=\s\\:,.;()"'`-]*$/
/** One line of a key: a header, or base64 with the line break before it, literal or escaped. */
const keyLine =
  /(?:\\[nr]|[\s"'`+,]){0,8}(?:[A-Za-z-]{1,30}: [^\n]{0,200}\n|[A-Za-z0-9+/=]{16,}|[A-Za-z0-9+/=]{1,15}$)/y

/** Redacts from the first line of a key to the last. A key without an end is redacted as far as it can be a key. */
function redactPrivateKeys(text: string, begin: RegExp): string {
  const ends = [...text.matchAll(keyEnd)].map((end) => ({ at: end.index, after: end.index + end[0].length }))
  let result = ''
  let from = 0
  let nextEnd = 0
  for (const found of text.matchAll(begin)) {
    if (found.index < from) continue
    const body = found.index + found[0].length
    while ((ends[nextEnd]?.at ?? Number.POSITIVE_INFINITY) < body) nextEnd += 1
    const end = ends[nextEnd]
    const whole = end !== undefined && end.at - body <= maxKeyLength && keyText.test(text.slice(body, end.at))
    result += text.slice(from, found.index) + markFor('PRIVATE_KEY')
    from = whole ? end.after : afterLines(text, body)
  }
  return result + text.slice(from)
}

function afterLines(text: string, from: number): number {
  keyLine.lastIndex = from
  while (keyLine.test(text)) from = keyLine.lastIndex
  return from
}

/** Verifies the check digit that every card number has. */
function isCardNumber(found: string): boolean {
  const digits = found.replace(/[ -]/g, '')
  let sum = 0
  for (let at = 0; at < digits.length; at += 1) {
    const digit = Number(digits[digits.length - 1 - at])
    const doubled = at % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0 && /^[2-6]/.test(digits)
}
