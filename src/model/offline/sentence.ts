/** The named groups of a pattern that matched a sentence, without quotes. */
export type Words = Readonly<Record<string, string | undefined>>

const maxPromptLength = 20_000
const maxSentences = 20
/** The maximum length without quoted parts. Longer sentences are not simple requests, and patterns are slow on them. */
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
  return parts.slice(0, maxSentences).flatMap(splitLine).slice(0, maxSentences)
}

/** Matches a sentence against a pattern. Each quoted text of the sentence counts as one word. */
export function matchSentence(pattern: RegExp, sentence: string): Words | undefined {
  const { masked, texts } = mask(sentence)
  const found = masked.length > maxSentenceLength ? null : pattern.exec(masked)
  if (found === null) return undefined
  return Object.fromEntries(
    Object.entries(found.groups ?? {}).map(([name, part]) => [
      name,
      part?.replace(maskedText, (_, at: string) => texts[Number(at)]?.slice(1, -1) ?? ''),
    ]),
  )
}

const listMark = /^(?:\d+[.)]|[-*•])\s+/

/** Verbs that begin a request. "and" before one of them separates two requests; any other "and" is part of one. */
const verbs = 'find|search|read|show|open|list|count|run|replace|change|rename|create|write|how|where|which'
const joints = new RegExp(
  `(?:[,;.]?\\s+(?:and\\s+)?(?:then|finally)\\b,?\\s+|;\\s+|(?:\\.|,?\\s+and)\\s+(?=(?:${verbs})\\b))`,
  'i',
)

function splitLine(line: string): string[] {
  const { masked, texts } = mask(line)
  return masked
    .split(joints)
    .map((part) => (part.length > maxSentenceLength ? `${part.slice(0, maxSentenceLength)}…` : tidy(part)))
    .filter((part) => part !== '')
    .map((part) => part.replace(maskedText, (_, at: string) => texts[Number(at)] ?? ''))
}

/** Removes polite words at the start and the end, and punctuation at the end. */
function tidy(sentence: string): string {
  return sentence
    .trim()
    .replace(/^(?:(?:please|then|can you|could you)\s+)*/i, '')
    .replace(/(?:,?\s+(?:please|thanks))*\s*[.!?]*$/i, '')
}

/** Replaces each quoted text by its number between two characters that do not occur in normal text. */
function mask(line: string): { readonly masked: string; readonly texts: readonly string[] } {
  const texts: string[] = []
  const masked = line
    .replaceAll('\ue000', '')
    .replace(/"[^"]+"|“[^”]+”|'[^']+'|`[^`]+`/g, (text) => `\ue000${texts.push(text) - 1}\ue000`)
    .replace(/\s+/g, ' ')
  return { masked, texts }
}

const maskedText = /\ue000(\d+)\ue000/g
