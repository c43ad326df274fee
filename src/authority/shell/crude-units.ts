import type { CommandUnit, Word } from './analysis.js'

/**
 * Returns the possible commands in a text that was not parsed, so that denies still match. Splits at everything that
 * could end a command, once with the quotes removed and once with quotes as separators: too many units rather than
 * too few, each with a doubt.
 */
export function crudeUnits(text: string, doubt: string): CommandUnit[] {
  const units = new Map<string, CommandUnit>()
  const joined = text.replaceAll('\\\n', '')
  // Text directly after a closing bracket may belong to the word before it; the command's name is then after that
  // text.
  const afterGlued = joined.split(GLUED).slice(1).join(';')
  for (const pieces of [joined.split(CUTS), joined.split(CUTS_AND_QUOTES), afterGlued.split(CUTS)]) {
    for (const piece of pieces) {
      const bare = piece.replaceAll(/["'\\]/g, '').trim()
      if (bare === '' || units.has(bare)) continue
      units.set(bare, crudeUnit(bare, doubt))
      if (units.size >= MAX_CRUDE_UNITS) return [...units.values()]
    }
  }
  return [...units.values()]
}

const MAX_CRUDE_UNITS = 5_000
const IN_FRONT =
  /^(\w+=.*|if|then|elif|else|while|until|do|in|time|coproc|function|env|command|builtin|exec|sudo|nohup|nice|setsid|stdbuf|timeout|xargs|[-+].*|[0-9.]+[smhd]?)$/
const CUTS = /[;&|\n\r(){}`<>!]+/
const GLUED = /[)}`][^\s;&|()]+/
const CUTS_AND_QUOTES = /[;&|\n\r(){}`<>!"']+/

function crudeUnit(text: string, doubt: string): CommandUnit {
  const words = text
    .split(/\s+/)
    .map((word): Word => (/[$*?[~]/.test(word) ? { text: word } : { text: word, value: word }))
  // Skip keywords, assignments and plain wrappers before the name, because they would hide it.
  const first = words.findIndex((word) => !IN_FRONT.test(word.text))
  return {
    text,
    words: first > 0 ? words.slice(first) : words,
    assignments: [],
    redirections: [],
    cwd: undefined,
    doubts: [doubt],
  }
}
