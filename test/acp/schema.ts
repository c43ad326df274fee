import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Schema, Validator } from '@cfworker/json-schema'
import { isRecord } from '../../src/tool/json.js'

/** The official schema of the protocol's version 1, as its SDK ships it. */
const text = readFileSync(join(sdkDirectory(), 'schema/v1/schema.json'), 'utf8')
const schema: { readonly $defs: Record<string, Schema & { 'x-method'?: string; 'x-side'?: string }> } =
  JSON.parse(text)
const validators = new Map<string, Validator>()

/** The problems of a message of the agent; none when it fits the schema. `method` is what a response answers. */
export function schemaProblems(message: unknown, method?: string): string[] {
  if (!isRecord(message)) return ['It is not an object.']
  if (message['jsonrpc'] !== '2.0') return ['It is not JSON-RPC 2.0.']
  if (typeof message['method'] === 'string') {
    const name = definitionOf(message['method'], 'id' in message ? 'Request' : 'Notification')
    return name === undefined ? [] : problems(name, message['params'])
  }
  if ('error' in message) return problems('Error', message['error'])
  const name = method === undefined ? undefined : definitionOf(method, 'Response')
  return name === undefined ? [] : problems(name, message['result'])
}

function definitionOf(method: string, end: 'Request' | 'Response' | 'Notification'): string | undefined {
  if (method.startsWith('_')) return undefined
  const found = Object.entries(schema.$defs).find(
    ([name, one]) => one['x-method'] === method && name.endsWith(end),
  )
  if (found === undefined) throw new Error(`The schema has no ${end} of ${method}.`)
  return found[0]
}

function problems(name: string, value: unknown): string[] {
  const known = validators.get(name)
  const validator = known ?? new Validator({ $ref: `#/$defs/${name}`, $defs: schema.$defs }, '2020-12', false)
  validators.set(name, validator)
  const { valid, errors } = validator.validate(value)
  return valid ? [] : errors.map(({ instanceLocation, error }) => `${name} ${instanceLocation}: ${error}`)
}

function sdkDirectory(): string {
  const entry = createRequire(import.meta.url).resolve('@agentclientprotocol/sdk')
  return join(dirname(entry), '../../..')
}
