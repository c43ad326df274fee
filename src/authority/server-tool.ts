/**
 * Tools that servers offer are approved as what they are: their description, their parameters and the server they come from, each by
 * its digest. When one differs, the yes that was given before is not for this tool any more (SEC-174).
 */
import { canonicalJson } from './canonical-json.js'
import { sha256 } from './digest.js'

/** The digest of a tool, in parts, so that it can be said which of them changed. */
export async function serverToolDigest(tool: {
  readonly description: string
  readonly parameters: unknown
  /** What names the server: its command or its address. */
  readonly server: unknown
}): Promise<string> {
  const parts = [tool.description, canonicalJson(tool.parameters), canonicalJson(tool.server)]
  const digests = await Promise.all(parts.map((part) => sha256(part)))
  return digests.map((digest) => digest.slice(0, 16)).join('-')
}

/** What differs between two digests, in words; undefined when nothing does. */
export function whatChanged(before: string, now: string): string | undefined {
  if (before === now) return undefined
  const [was, is] = [before.split('-'), now.split('-')]
  const changed = names.filter((_, at) => was[at] !== is[at])
  const [last, ...others] = changed.reverse()
  const list = others.length === 0 ? last : `${others.reverse().join(', ')} and ${last}`
  return `${list ?? 'it'} changed`
}

const names = ['its description', 'its parameters', 'the server it comes from']
