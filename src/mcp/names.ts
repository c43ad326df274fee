import { createHash } from 'node:crypto'

/** The maximum length of a tool name that providers accept. */
const maxNameLength = 64
const maxLabelLength = 24

/**
 * Converts the configured name of a server to its part in tool names: letters, digits, `-` and single `_`. Two
 * underscores separate the server from its tool, so the name itself must not contain them (SEC-175). Undefined when
 * nothing is left.
 */
export function serverLabel(name: string): string | undefined {
  const plain = name
    .replace(/[^A-Za-z0-9-]+/g, '_')
    .replace(/_{2,}/g, '_')
    .replace(/^_+|_+$/g, '')
  if (plain === '') return undefined
  return plain.length <= maxLabelLength
    ? plain
    : `${plain.slice(0, maxLabelLength - 7).replace(/_+$/, '')}_${mark(name)}`
}

/**
 * Returns the last part of a tool's name. A valid name is unchanged; an invalid one gets a suffix that is derived
 * from the original, so that two different names never become the same (SEC-176).
 */
export function toolLabel(name: string, label: string): string {
  const room = maxNameLength - 'mcp__'.length - label.length - 2
  if (/^[A-Za-z0-9-][A-Za-z0-9_-]*$/.test(name) && name.length <= room) return name
  const plain = name
    .slice(0, 200)
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^_+|_+$/g, '')
  return `${plain.slice(0, room - 7) || 'tool'}_${mark(name)}`
}

export function toolId(label: string, tool: string): string {
  return `mcp__${label}__${tool}`
}

function mark(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 6)
}
