/** The number of columns of a text on a terminal. Style codes (`ESC [ … m`) take none. */
export function widthOf(text: string): number {
  const plain = text.replace(styles, '')
  if (oneColumnLetters.test(plain)) return plain.length
  let width = 0
  for (const { segment } of segmenter().segment(plain)) width += widthOfLetter(segment)
  return width
}

/** The columns of one grapheme: a letter with its accents, or an emoji with its joiners. */
export function widthOfLetter(letter: string): number {
  const code = letter.codePointAt(0) ?? 0
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return 0
  if (code < 0x300) return letter.includes('\ufe0f') ? 2 : 1
  if (invisible.test(letter)) return 0
  return wide.test(letter) || letter.includes('\ufe0f') || emoji.test(letter) ? 2 : 1
}

/** The graphemes of a text. */
export function lettersOf(text: string): string[] {
  // The segmenter is slow. There is always a boundary between two plain letters, so it processes only the rest, with
  // the plain letter on each side.
  return (
    text.match(/[\x20-\x7e]+(?![^\x20-\x7e])|(?:[\x20-\x7e]?[^\x20-\x7e]+)+[\x20-\x7e]?/g) ?? []
  ).flatMap((part) =>
    plainLetters.test(part)
      ? part.split('')
      : Array.from(segmenter().segment(part), ({ segment }) => segment),
  )
}

/** Cuts a text to a number of columns, with an ellipsis. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  let cut = ''
  let width = 0
  for (const letter of lettersOf(text.replace(styles, ''))) {
    width += widthOfLetter(letter)
    if (width > columns - 1) break
    cut += letter
  }
  return columns < 1 ? '' : `${cut}…`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the introducer of a style
const styles = /\x1b\[[\d;]*m/g
/** Characters that are each a grapheme of one column. */
const plainLetters = /^[\x20-\x7e]*$/
/**
 * The same with Latin letters, dashes, quotes, dots and arrows of one column, which help texts use. Otherwise one
 * ellipsis in `capstan --help` would load the segmenter, which takes a quarter of its CPU time.
 */
const oneColumnLetters = /^[\x20-\x7e\xa1-\xac\xae-\xff\u2010-\u2027\u2190-\u2193]*$/
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]+$/u
const emoji = /\p{Emoji_Presentation}/u
// East Asian Wide and Fullwidth, by block.
const wide =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u

let made: Intl.Segmenter | undefined

function segmenter(): Intl.Segmenter {
  made ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return made
}
