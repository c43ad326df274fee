import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Item } from './acl/ast.js'
import type { AgentConfig } from './config.js'
import { readFields, spellings } from './field.js'
import type { Reading, Spot } from './reading.js'
import { agentShape } from './tables/agent-table.js'

/** Reads the tree of a configuration, from text or from an object. Problems are collected in `reading`. */
export function readConfig(items: readonly Item[], reading: Reading): AgentConfig {
  const read = readFields(agentShape, items, { path: '' }, reading)
  const config: AgentConfig = { ...read, providers: read.providers ?? [], mcpServers: read.mcpServers ?? [] }
  return withStoragePath(withDefaultModel(config, spotOf('defaultModel', items), reading), reading, items)
}

function withDefaultModel(config: AgentConfig, given: Spot | undefined, reading: Reading): AgentConfig {
  const declared = config.providers.flatMap(({ name, models }) => models.map(({ id }) => `${name}/${id}`))
  if (config.defaultModel === undefined) {
    const [first] = declared
    if (first === undefined) return config
    reading.warn({ path: '' }, `default_model is not set; the first declared model is used: "${first}"`)
    return { ...config, defaultModel: first }
  }
  if (given !== undefined && !declared.includes(config.defaultModel)) {
    reading.warn(given, `${given.path} names a model that is not declared under providers`)
  }
  return config
}

/**
 * The built-in stores use files, so a value without a URL scheme is a path. The value for a custom store is passed on
 * unchanged.
 */
function withStoragePath(config: AgentConfig, reading: Reading, items: readonly Item[]): AgentConfig {
  const { storageUrl, storageBackend } = config
  if (storageUrl === undefined || storageBackend === 'custom' || storageBackend === 'memory') return config
  if (/^(?::|(?!file:)[a-z][a-z0-9+.-]+:)/i.test(storageUrl)) return config
  try {
    return { ...config, storageUrl: reading.resolvePath(storageUrl) }
  } catch {
    const spot = spotOf('storageUrl', items) ?? { path: 'storageUrl' }
    reading.fail(spot, `${spot.path} must be a path or a URL; this file: URL is not a path of this machine`)
    return config
  }
}

/** The last position of a field in the document. */
function spotOf(key: keyof AgentConfig, items: readonly Item[]): Spot | undefined {
  const names = spellings(key, agentShape[key])
  const item = items.findLast(({ name }) => names.includes(name))
  return item && { path: item.name, ...omitUndefined({ span: item.span }) }
}
