import { join, resolve } from 'node:path'
import type { AgentConfig } from '../../agent/config/index.js'
import { loadConfig } from '../../agent/config/index.js'
import { readIfThere } from '../../workspace/rules/read-if-there.js'
import type { Io } from '../io.js'
import { type ConfigPlace, configName, readWorkspaceConfig } from './workspace-config.js'

/** What configuration files say, put together, and what is odd about them. */
export type Settings = {
  readonly config: AgentConfig
  readonly warnings: readonly string[]
  /** The configuration of the workspace, when the user has not confirmed it: it has no effect. */
  readonly unconfirmed?: string
  /** The files that count, the one that goes first at the front. */
  readonly files: readonly string[]
}

/**
 * A file that is named is the only one that counts. Else the workspace's own goes before the user's, once the user has confirmed it, and
 * what neither says is not said.
 */
export async function loadSettings(
  place: ConfigPlace,
  io: Pick<Io, 'env' | 'cwd'>,
  named?: string,
): Promise<Settings> {
  if (named !== undefined) {
    const path = resolve(io.cwd, named)
    const { config, warnings } = await loadConfig(path, io)
    return { config, warnings, files: [path] }
  }
  const own = await readWorkspaceConfig(place)
  const layers: Settings[] = []
  if (own?.confirmed === true) layers.push(await load(own.path, place.root, own.text, io))
  const userFile = join(place.userDir, 'config.acl')
  const userText = await readIfThere(userFile, maxFileBytes)
  if (userText !== undefined) layers.push(await load(userFile, place.userDir, userText, io))
  const unconfirmed = own?.confirmed === false ? own.path : undefined
  const notUsed = `${configName} came with this directory and is not used: read it, and confirm it with "capstan trust".`
  return {
    config: merge(layers.map(({ config }) => config)),
    warnings: [
      ...(unconfirmed === undefined ? [] : [notUsed]),
      ...layers.flatMap(({ warnings }) => warnings),
    ],
    files: layers.flatMap(({ files }) => files),
    ...(unconfirmed !== undefined && { unconfirmed }),
  }
}

const maxFileBytes = 1024 * 1024

/** The very text that was confirmed is what is read, whatever becomes of the file meanwhile. */
async function load(
  path: string,
  directory: string,
  text: string,
  { env }: Pick<Io, 'env'>,
): Promise<Settings> {
  const { config, warnings } = await loadConfig(path, { env, cwd: directory, readFile: async () => text })
  return { config, warnings: warnings.map((warning) => `${path}: ${warning}`), files: [path] }
}

function merge(configs: readonly AgentConfig[]): AgentConfig {
  // What goes first is laid on top.
  return {
    ...Object.assign({}, ...configs.toReversed()),
    providers: firstByName(configs.flatMap(({ providers }) => providers)),
    mcpServers: firstByName(configs.flatMap(({ mcpServers }) => mcpServers)),
  }
}

function firstByName<Named extends { readonly name: string }>(all: readonly Named[]): Named[] {
  return all.filter(({ name }, at) => all.findIndex((other) => other.name === name) === at)
}
