/**
 * Returns a pattern for a path and everything below it, in every spelling that a macOS volume treats as the same: most
 * ignore case, and all ignore whether a letter with an accent is one character or two.
 */
export function samePath(path: string): string {
  return `^${anyCase(path)}(/|$)`
}

/** Returns a pattern for a name directly in a directory, which may not exist yet, and everything below it. */
export function sameName(directory: string, name: string): string {
  return `^${anyCase(directory === '/' ? '' : directory)}/${loose(name)}(/|$)`
}

/** Returns a pattern for a name at any depth below a directory, and everything below it. */
export function sameNameBelow(directory: string, name: string): string {
  return `^${anyCase(directory === '/' ? '' : directory)}/([^/]*/)*${loose(name)}(/|$)`
}

function anyCase(text: string): string {
  const composed = text.normalize('NFC')
  let pattern = ''
  for (const part of composed.match(/[ -~]+|[^ -~]+/gu) ?? [])
    pattern += isAscii(part) ? Array.from(part, eitherCase).join('') : eitherForm(part)
  return pattern
}

function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text)
}

/** Returns a pattern for characters outside ASCII, composed or decomposed, in their own case and in the other cases. */
function eitherForm(text: string): string {
  const cases = [text, text.toLowerCase(), text.toUpperCase()]
  const forms = cases.flatMap((each) => [each.normalize('NFC'), each.normalize('NFD')])
  const [first = '', ...others] = new Set(forms)
  const escaped = [first, ...others].map((each) => Array.from(each, literally).join(''))
  return others.length === 0 ? escaped.join('') : `(${escaped.join('|')})`
}

/**
 * File systems ignore some characters outside ASCII, and treat some as one ASCII letter or several (`ﬅ` as `st`): from
 * the first of them on, every letter of the name can be missing.
 */
function loose(name: string): string {
  const letters = Array.from(name)
  const lax = letters.map((letter) =>
    /[a-z]/i.test(letter) ? `(${eitherCase(letter)}${other}*)?` : `${eitherCase(letter)}${other}*`,
  )
  return letters.reduceRight(
    (rest, letter, at) => `(${eitherCase(letter)}${rest}|${other}+${lax.slice(at).join('')})`,
    `${other}*`,
  )
}

const other = '[^ -~]'

function eitherCase(letter: string): string {
  return /[a-z]/i.test(letter) ? `[${letter.toLowerCase()}${letter.toUpperCase()}]` : literally(letter)
}

function literally(letter: string): string {
  if (/[\\^\]]/.test(letter)) return `\\${letter}`
  return /[.$*+?()[{}|]/.test(letter) ? `[${letter}]` : letter
}
