/**
 * A tool of a server is approved with its current definition: its description, its parameters and the server it comes
 * from, each by its digest. When one of them changes, earlier approvals no longer apply to the tool (SEC-174).
 */
import { canonicalJson } from './canonical-json.js'
import { sha256 } from './digest.js'

/** Returns the digest of a tool in parts, so that a message can say which part changed. */
export async function serverToolDigest(tool: {
  readonly description: string
  readonly parameters: unknown
  /** What identifies the server: its command or its address. */
  readonly server: unknown
}): Promise<string> {
  const parts = [tool.description, canonicalJson(tool.parameters), canonicalJson(tool.server)]
  const digests = await Promise.all(parts.map((part) => sha256(part)))
  return digests.map((digest) => digest.slice(0, 16)).join('-')
}

/** Describes the difference between two digests; undefined when there is none. */
export function whatChanged(before: string, now: string): string | undefined {
  if (before === now) return undefined
  const [was, is] = [before.split('-'), now.split('-')]
  const changed = names.filter((_, at) => was[at] !== is[at])
  const [last, ...others] = changed.reverse()
  const list = others.length === 0 ? last : `${others.reverse().join(', ')} and ${last}`
  return `${list ?? 'it'} changed`
}

const names = ['its description', 'its parameters', 'the server it comes from']
