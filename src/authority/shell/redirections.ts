import type { HereDoc, Redirect, Redirection as SyntaxRedirection } from 'unbash'
import type { NamedPath, Redirection } from './analysis.js'
import { namedFile } from './named-file.js'
import { readWord } from './static-word.js'
import type { Places } from './working-directory.js'

export type ReadRedirections = {
  readonly redirections: readonly Redirection[]
  readonly paths: readonly Omit<NamedPath, 'unit'>[]
  readonly hosts: readonly string[]
  readonly doubts: readonly string[]
  /** The text of a here-document or here-string, if it is literal. */
  readonly input: string | undefined
}

/** Returns what redirections read and write. `/dev/null` and copies of descriptors are harmless. */
export function readRedirections(nodes: readonly SyntaxRedirection[], places: Places): ReadRedirections {
  const redirections: Redirection[] = []
  const paths: Omit<NamedPath, 'unit'>[] = []
  const hosts: string[] = []
  const doubts: string[] = []
  let input: string | undefined
  for (const node of nodes) {
    if (node.type === 'HereDoc') {
      if (feedsInput(node)) input = hereDocumentText(node)
      continue
    }
    if (!node.target) continue
    const target = readWord(node.target)
    if (node.type === 'HereString') {
      if (feedsInput(node)) input = target.value === undefined ? undefined : `${target.value}\n`
      continue
    }
    if (copiesDescriptor(node.operator, target.value)) continue
    const mode = MODES[node.operator]
    redirections.push({ mode, target })
    if (target.value === undefined) doubts.push('a redirection names a file that is only known when it runs')
    const file = namedFile(target)
    if (file === undefined || FREE.has(file)) continue
    const socket = /^\/dev\/(?:tcp|udp)\/([^/]+)/.exec(file)
    if (socket) {
      hosts.push(socket[1] ?? '')
      doubts.push(`a redirection opens a network connection to ${socket[1]}`)
      continue
    }
    for (const cwd of places.length > 0 ? places : [undefined]) {
      if (mode !== 'write') paths.push({ fs: 'read', origin: 'redirection', path: file, cwd })
      if (mode !== 'read') paths.push({ fs: 'write', origin: 'redirection', path: file, cwd })
    }
  }
  return { redirections, paths, hosts, doubts, input }
}

const FREE = new Set(['/dev/null', '/dev/stdin', '/dev/stdout', '/dev/stderr'])

const MODES: Readonly<Record<Redirect['operator'], Redirection['mode']>> = {
  '>': 'write',
  '>>': 'write',
  '>|': 'write',
  '>&': 'write',
  '&>': 'write',
  '&>>': 'write',
  '<': 'read',
  '<&': 'read',
  '<>': 'readwrite',
}

/** `2>&1`, `>&-`, `<&3-`; `>& file` is a file. */
function copiesDescriptor(operator: string, target: string | undefined): boolean {
  return operator.endsWith('&') && target !== undefined && /^(\d+-?|-)$/.test(target)
}

function feedsInput({ descriptor }: SyntaxRedirection): boolean {
  return !descriptor || (descriptor.type === 'FileDescriptor' && descriptor.value === 0)
}

function hereDocumentText({ body, delimiter, operator }: HereDoc): string | undefined {
  const parts = delimiter?.quoted ? undefined : body.parts
  let text = parts ? '' : body.text
  for (const part of parts ?? []) {
    if (part.type !== 'Literal') return undefined
    text += part.value
  }
  return operator === '<<-' ? text.replaceAll(/^\t+/gm, '') : text
}
