import { call, done, excerpt, failureOf, indented, type Kind } from '../plan.js'
import { looksLikeGlob, looksLikePath, quotedIn, unquoted } from '../sentence.js'

const opening =
  /^(?:list|ls|dir|(?:what|which)\s+(?:files|directories|folders)\s+(?:are|exist|do\s+(?:we|you|i)\s+have)(?:\s+there)?|show(?:\s+me)?\s+(?:the\s+|all\s+)*(?:files|directory|folder))\b\s*/i

/** Lists a directory, or files by name. */
export const list: Kind = {
  examples: ['list src', 'list *.json files'],
  understand(sentence) {
    if (!opening.test(sentence)) return undefined
    const rest = sentence.replace(opening, '')
    const place = placeIn(rest)
    if (place !== undefined && looksLikeGlob(place)) {
      return ([found]) => {
        if (found === undefined) return call('glob', { pattern: place }, `Listing files that match ${place}.`)
        if (found.failed) return failureOf(found, `listing ${place}`)
        return done(`Files that match ${place}:\n\n${indented(excerpt(found.text, 60))}`)
      }
    }
    if (place === undefined && rest !== '' && !fillers.test(rest)) return undefined
    const path = place ?? '.'
    return ([found]) => {
      if (found === undefined) return call('ls', { path }, `Listing ${nameOf(path)}.`)
      if (found.failed) return failureOf(found, `listing ${path}`)
      return done(`In ${nameOf(path)}:\n\n${indented(excerpt(found.text, 60))}`)
    }
  },
}

const fillers =
  /^(?:the\s+|all\s+)*(?:files?|directory|folder|everything|contents?|here|workspace|project)?(?:\s+(?:here|in the (?:workspace|project|directory|folder)))?$/i

function placeIn(rest: string): string | undefined {
  const [first] = quotedIn(rest)
  if (first !== undefined) return first
  const words = rest.split(/\s+/).filter((word) => word !== '')
  const obvious = words.find((word) => looksLikeGlob(word) || looksLikePath(word))
  if (obvious !== undefined) return unquoted(obvious)
  if (fillers.test(rest)) return undefined
  const named =
    /^(?:(?:the|all)\s+)*(?:(?:files|directory|folder|contents?)\s+)?(?:(?:in|of|under|inside)\s+)?(?:the\s+)?(?:directory\s+|folder\s+)?([\w.-]+)(?:\s+(?:directory|folder))?$/i.exec(
      rest,
    )
  return named?.[1]
}

function nameOf(path: string): string {
  return path === '.' ? 'the workspace' : path
}
