import { dirname, resolve } from 'node:path'
import { parseAcl } from './acl/parse.js'
import type { AgentConfig } from './config.js'
import { ConfigError } from './config-error.js'
import type { AgentConfigInput } from './config-input.js'
import { itemsOfObject } from './from-object.js'
import { readConfig } from './read-config.js'
import { isAbsent, readConfigFile, reasonOf } from './read-config-file.js'
import { type Environment, type Reading, startReading } from './reading.js'

export type LoadConfigOptions = {
  /** The variables that `env("NAME")` reads (default: `process.env`). */
  readonly env?: Environment | undefined
  /** The base of relative paths (default: the working directory of the process). */
  readonly cwd?: string | undefined
  /** Reads a configuration file (default: from the file system). */
  readonly readFile?: ((path: string) => Promise<string>) | undefined
}

export type LoadedConfig = {
  readonly config: AgentConfig
  /** Warnings about ignored and defaulted fields, for a user to read. They contain no values of the configuration. */
  readonly warnings: readonly string[]
}

/**
 * Reads a configuration: the path of an `.acl` file, ACL text, or an object. Rejects with a {@link ConfigError} that
 * lists every problem. Relative paths in a file are relative to its directory, all others to `cwd`.
 *
 * @example
 * const { config, warnings } = await loadConfig('capstan.acl')
 */
export async function loadConfig(
  source: string | AgentConfigInput,
  options: LoadConfigOptions = {},
): Promise<LoadedConfig> {
  const { env = process.env, cwd = process.cwd(), readFile = readConfigFile } = options
  if (typeof source !== 'string') return loadObject(source, startReading(env, cwd))
  const name = source.trim()
  const format = formatOfPath(name)
  if (format === 'acl') {
    const path = resolve(cwd, name)
    const text = await readOrNothing(path, name, readFile)
    if (text !== undefined) return loadText(text, startReading(env, dirname(path)), name)
  } else if (format !== undefined && !mayBeText(name)) throw refuseFormat(name, format)
  return loadText(source, startReading(env, cwd))
}

function loadObject(source: unknown, reading: Reading): LoadedConfig {
  if (typeof source !== 'object' || source === null) {
    throw new ConfigError('The configuration must be ACL text, the path of an .acl file, or a plain object')
  }
  const config = readConfig(itemsOfObject(source), reading)
  return conclude(config, reading, 'Invalid configuration')
}

function loadText(text: string, reading: Reading, name?: string): LoadedConfig {
  if (/^\ufeff?\s*[{[]/.test(text)) throw refuseJson(name)
  const { items, problems } = parseAcl(text)
  if (problems.length > 0) {
    const found = problems.map(({ message, span: { line, column } }) => ({ message, line, column }))
    throw new ConfigError(`Failed to parse ACL${name === undefined ? '' : ` config ${name}`}`, found)
  }
  const config = readConfig(items, reading)
  return conclude(config, reading, `Invalid configuration${name === undefined ? '' : ` in ${name}`}`)
}

function conclude(config: AgentConfig, { problems, warnings }: Reading, headline: string): LoadedConfig {
  if (problems.length === 0) return { config, warnings }
  throw new ConfigError(headline, problems)
}

function formatOfPath(name: string): string | undefined {
  if (name.length > 4096 || /[\r\n\0]/.test(name)) return undefined
  return /\.(acl|json|hcl)$/i.exec(name)?.[1]?.toLowerCase()
}

/**
 * Whether a one-line source that ends like a path is ACL text after all, for example because it ends with a comment.
 */
function mayBeText(name: string): boolean {
  return /[={#"]/.test(name)
}

async function readOrNothing(
  path: string,
  name: string,
  readFile: (path: string) => Promise<string>,
): Promise<string | undefined> {
  try {
    return await readFile(path)
  } catch (cause) {
    if (isAbsent(cause) && mayBeText(name)) return undefined
    throw new ConfigError(`Failed to read config file ${name}: ${reasonOf(cause)}`, [], { cause })
  }
}

const aclForm = `default_model = "provider/model"
providers "provider" {
  api_key = env("NAME")
  models "model" {}
}`

function refuseFormat(name: string, format: string): ConfigError {
  if (format === 'json') return refuseJson(name)
  return new ConfigError(
    `Config file ${name} is not supported: write the configuration as ACL, in a file that ends in .acl`,
  )
}

function refuseJson(name?: string): ConfigError {
  const what = name === undefined ? 'JSON text' : `Config file ${name}: JSON`
  return new ConfigError(
    `${what} is not a configuration format. Write it as ACL, or parse it and pass the object. The ACL form:\n${aclForm}`,
  )
}
