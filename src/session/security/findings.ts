import type { SecurityFinding } from './provider.js'

/**
 * Patterns of text from outside that impersonates another speaker. Few and simple: they are hints for users and block
 * nothing.
 */
const signs: readonly { readonly kind: string; readonly pattern: RegExp }[] = [
  {
    kind: 'ignore_instructions',
    pattern:
      /\b(?:ignore|disregard|forget|override)\s{1,8}(?:(?:all|any|the|your|of|these|my)\s{1,8}){0,4}(?:previous|prior|above|earlier|preceding|system)\s{1,8}(?:instructions?|prompts?|messages?|rules?|context)\b/gi,
  },
  {
    kind: 'new_role',
    pattern:
      /\byou\s{1,8}are\s{1,8}now\s{1,8}(?:an?|the|in)\b|\bnew\s{1,8}(?:system\s{1,8})?instructions\s{0,4}:/gi,
  },
  {
    kind: 'hide_from_user',
    pattern:
      /\b(?:do\s{1,8}not|don't|never)\s{1,8}(?:tell|inform|mention|reveal|show)\s{1,8}(?:(?:this|it|anything)\s{1,8})?(?:to\s{1,8})?the\s{1,8}user\b/gi,
  },
  {
    kind: 'fake_turn',
    pattern:
      /<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>|<\/?(?:tool_result|function_results|system|assistant|user_message)>|\[\/?INST\]|<<\/?SYS>>/g,
  },
  {
    kind: 'hidden_text',
    // Tag characters, bidirectional overrides, and sequences of zero-width characters.
    pattern: /[\u{E0000}-\u{E007F}]{1,64}|[\u202A-\u202E\u2066-\u2069]|[\u200B\u2060\u2062-\u2064]{2,64}/gu,
  },
  {
    kind: 'data_in_image_url',
    pattern: /!\[[^[\]\n]{0,80}\]\(https?:\/\/[^\s)?]{1,200}\?[^\s)]{1,200}/g,
  },
]

const maxFindings = 20

/** Returns the suspicious parts of a text, in order. */
export function findInjections(text: string): SecurityFinding[] {
  const found: SecurityFinding[] = []
  for (const { kind, pattern } of signs) {
    let count = 0
    for (const match of text.matchAll(pattern)) {
      found.push({ kind, at: match.index, excerpt: visible(match[0]) })
      count += 1
      if (count === maxFindings) break
    }
  }
  return found.sort((a, b) => a.at - b.at).slice(0, maxFindings)
}

const maxExcerptLength = 80

/** Shows invisible characters and control characters of terminals by their code points. */
function visible(text: string): string {
  return text
    .slice(0, maxExcerptLength)
    .replace(
      /[\p{Cc}\p{Cf}\p{Cs}\u{E0000}-\u{E007F}]/gu,
      (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
    )
}
