/** A regular expression for one word or quoted text; {@link unquoted} removes the quotes. */
export const term = '"[^"]+"|“[^”]+”|\'[^\']+\'|`[^`]+`|\\S+'

/** Like {@link term}, but in quotes. */
const quoted = '"[^"]+"|“[^”]+”|\'[^\']+\'|`[^`]+`'

const maxPromptLength = 20_000
const maxSentences = 20
/** Without quoted parts. Longer sentences are not simple requests, and complex patterns take long on them. */
const maxSentenceLength = 300

/** Returns the requests in a prompt, in order: the items of a list, or the parts joined by "then" and similar words. */
export function sentencesOf(prompt: string): string[] {
  const lines = prompt
    .slice(0, maxPromptLength)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const items = lines.filter((line) => listMark.test(line))
  const parts = items.length > 1 ? items.map((line) => line.replace(listMark, '')) : lines
  return parts.slice(0, maxSentences).flatMap(splitSentence).slice(0, maxSentences)
}

const listMark = /^(?:\d+[.)]|[-*•])\s+/

/** Verbs that begin a request: "and" before one of them joins two requests, any other "and" belongs to one. */
const verbs =
  'find|search|look|grep|read|show|open|cat|print|list|ls|count|run|execute|replace|change|rename|edit|create|write|git|tell|how|where|what|which|check|test'

const joints = new RegExp(
  `(?:[,;.]?\\s+(?:and\\s+)?(?:then|afterwards|after that|finally|next)\\b,?\\s+|;\\s+|,?\\s+and\\s+(?=(?:${verbs})\\b)|\\.\\s+(?=(?:${verbs})\\b))`,
  'gi',
)

/** A character that occurs in no normal text. */
const mark = '\ue000'

/** Splits a line, except inside quotes. */
function splitSentence(line: string): string[] {
  const protectedTexts: string[] = []
  const masked = line
    .replaceAll(mark, '')
    .replace(new RegExp(quoted, 'g'), (text) => `${mark}${protectedTexts.push(text) - 1}${mark}`)
    .replace(/\s+/g, ' ')
  const restore = (text: string): string =>
    text.replace(/\ue000(\d+)\ue000/g, (_, at: string) => protectedTexts[Number(at)] ?? '')
  return masked
    .split(joints)
    .map((sentence) =>
      sentence.length > maxSentenceLength ? `${sentence.slice(0, maxSentenceLength)}…` : tidy(sentence),
    )
    .filter((sentence) => sentence !== '')
    .map(restore)
}

/** Removes polite words at the start and punctuation at the end. */
function tidy(sentence: string): string {
  return sentence
    .trim()
    .replace(/^(?:first(?:ly)?|then|finally|next|and|also)\b[,:]?\s+/i, '')
    .replace(
      /^(?:(?:please|kindly|hey|ok|okay)[,\s]+)*(?:(?:can|could|would|will) you\s+)?(?:please\s+)?(?:(?:i want you|i need you|i'd like you) to\s+)?/i,
      '',
    )
    .replace(/(?:,?\s+(?:please|for me|thanks|thank you))*\s*[.!?]*$/i, '')
    .trim()
}

export function unquoted(text: string): string {
  const trimmed = text.trim()
  const inner = new RegExp(`^(?:${quoted})$`).test(trimmed) ? trimmed.slice(1, -1) : trimmed
  return inner
}

/** Returns all quoted texts of a sentence, in order. */
export function quotedIn(sentence: string): string[] {
  return [...sentence.matchAll(new RegExp(quoted, 'g'))].map(([text]) => unquoted(text))
}

/** Splits a place from the end of a sentence: `x in src/` is `x`, in `src/`. */
export function splitPlace(sentence: string): { readonly rest: string; readonly place?: string } {
  const found = placeAtEnd.exec(sentence)
  if (found === null) return { rest: sentence }
  const rest = sentence.slice(0, found.index).trim()
  const place = unquoted(found[1] ?? '')
  if (rest === '') return { rest: sentence }
  return everywhere.test(place) ? { rest } : { rest, place }
}

const placeAtEnd = new RegExp(
  `\\s+(?:in|inside|within|under|from|of|below)\\s+(?:the\\s+)?(?:file\\s+|files\\s+|folder\\s+|directory\\s+|dir\\s+)?(${term})(?:\\s+(?:folder|directory|dir|file))?$`,
  'i',
)
const everywhere =
  /^(?:here|it|project|code|codebase|sources?|repo|repository|workspace|files?|everything|this)$/i

/** Returns whether a word can only be a file or directory. */
export function looksLikePath(word: string): boolean {
  return /[/\\]|^\.{1,2}$|^\.\w|\w\.\w{1,8}$/.test(word)
}

export function looksLikeGlob(word: string): boolean {
  return /[*?]|\{[^}]*,[^}]*\}/.test(word) && !/\s/.test(word)
}
