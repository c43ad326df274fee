import { isAbsolute } from 'node:path'
import { tryOr } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import type { AgentConfig } from './config.js'
import type { Hidden, Table } from './field.js'
import { agentShape } from './tables/agent-table.js'

/** The text that replaces a secret. */
const mask = '[hidden]'

/** The minimum length of a secret in headers and variables. Shorter values are often common words. */
const minSecretLength = 8

/** All secrets of a configuration, longest first, so that a secret that contains another one is replaced completely. */
export function secretsOf(config: AgentConfig, variables: readonly string[] = []): string[] {
  const found = new Set(variables.filter(isTelling))
  copyWith(agentShape, config, (hidden, value) => {
    for (const each of secretsIn(hidden, value)) found.add(each)
    return value
  })
  found.delete('')
  return [...found].toSorted((a, b) => b.length - a.length)
}

/** The configuration with its secrets masked, for display. */
export function describeConfig(config: AgentConfig): Record<string, unknown> {
  return copyWith(agentShape, config, masked)
}

type Treat = (hidden: Hidden, value: unknown) => unknown

function copyWith(table: Table, fields: object, treat: Treat): Record<string, unknown> {
  const copied = Object.entries(fields).map(([key, value]): [string, unknown] => {
    const kind = Object.hasOwn(table, key) ? table[key]?.kind : undefined
    if (kind?.hidden !== undefined) return [key, treat(kind.hidden, value)]
    return [
      key,
      kind?.fields === undefined ? value : copyInside(kind.fields, kind.named === true, value, treat),
    ]
  })
  return Object.fromEntries(copied)
}

function copyInside(table: Table, named: boolean, value: unknown, treat: Treat): unknown {
  if (Array.isArray(value)) return value.map((item) => copyInside(table, false, item, treat))
  if (!isRecord(value)) return value
  if (!named) return copyWith(table, value, treat)
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, copyInside(table, false, item, treat)]),
  )
}

function secretsIn(hidden: Hidden, value: unknown): string[] {
  switch (hidden) {
    case 'secret':
      return typeof value === 'string' ? [value] : []
    case 'secrets':
      return textsIn(value).flatMap(withoutScheme).filter(isTelling)
    case 'address':
      return typeof value === 'string' ? secretsInAddress(value) : []
    case 'private':
      return []
  }
}

/** In `Bearer abc`, the whole value and `abc` are secrets. */
function withoutScheme(value: string): string[] {
  const [, bare] = /^[A-Za-z]+ +(\S+)$/.exec(value) ?? []
  return bare === undefined ? [value] : [value, bare]
}

function secretsInAddress(address: string): string[] {
  if (!URL.canParse(address)) return []
  const { username, password, searchParams } = new URL(address)
  const inUser = password === '' ? username : password
  return [inUser, decoded(inUser), ...[...searchParams.values()].filter(isTelling)]
}

function masked(hidden: Hidden, value: unknown): unknown {
  if (hidden === 'address') return typeof value === 'string' ? maskedAddress(value) : mask
  if (Array.isArray(value)) return value.map(() => mask)
  if (isRecord(value)) return Object.fromEntries(Object.keys(value).map((name) => [name, mask]))
  return mask
}

function maskedAddress(address: string): string {
  if (isAbsolute(address)) return address
  // For a URL without a host, only the store knows the format and where a password is, so everything is masked.
  if (!address.includes('://') || !URL.canParse(address)) return mask
  const { protocol, username, password, host, pathname, search } = new URL(address)
  const user = username === '' && password === '' ? '' : `${mask}@`
  return `${protocol}//${user}${host}${pathname}${search === '' ? '' : `?${mask}`}`
}

function textsIn(value: unknown): string[] {
  return isRecord(value) ? Object.values(value).filter((each) => typeof each === 'string') : []
}

function isTelling(value: string): boolean {
  return value.length >= minSecretLength
}

function decoded(text: string): string {
  // A % that is not part of a valid escape stays unchanged.
  return tryOr(() => decodeURIComponent(text), text)
}
