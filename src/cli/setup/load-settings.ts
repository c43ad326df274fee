import { join, resolve } from 'node:path'
import type { AgentConfig } from '../../agent/config/index.js'
import { loadConfig } from '../../agent/config/index.js'
import { stricterConfinement } from '../../agent/config/stricter-confinement.js'
import { readIfThere } from '../../workspace/rules/read-if-there.js'
import type { Args } from '../args.js'
import type { Io } from '../io.js'
import { type ConfigPlace, configName, configPlaceOf, readWorkspaceConfig } from './workspace-config.js'

/** The merged configuration files, and warnings about them. */
export type Settings = {
  readonly config: AgentConfig
  readonly warnings: readonly string[]
  /** The path of the workspace's configuration if the user has not confirmed it. It has no effect. */
  readonly unconfirmed?: string | undefined
  /** The files that are used, in order of precedence. */
  readonly files: readonly string[]
}

/** Loads the settings for the options `--directory` and `--config`. */
export async function settingsOf(args: Args, io: Io): Promise<Settings & ConfigPlace> {
  const place = configPlaceOf(args, io)
  return { ...place, ...(await loadSettings(place, io, args.value('config'))) }
}

/**
 * Loads the configuration. If a file is named, only that one is used. Otherwise the workspace's file, once the user has
 * confirmed it, takes precedence over the user's.
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
  const fromWorkspace = own?.confirmed === true ? await load(own.path, place.root, own.text, io) : undefined
  const userFile = join(place.userDir, 'config.acl')
  const userText = await readIfThere(userFile, maxFileBytes)
  const fromUser = userText === undefined ? undefined : await load(userFile, place.userDir, userText, io)
  const layers = [fromWorkspace, fromUser].filter((layer) => layer !== undefined)
  const unconfirmed = own?.confirmed === false ? own.path : undefined
  const notUsed = `${configName} came with this directory and is not used. Read it, then confirm it with "capstan trust".`
  return {
    config: merge(fromWorkspace?.config, fromUser?.config),
    warnings: [
      ...(unconfirmed === undefined ? [] : [notUsed]),
      ...layers.flatMap(({ warnings }) => warnings),
    ],
    files: layers.flatMap(({ files }) => files),
    unconfirmed,
  }
}

const maxFileBytes = 1024 * 1024

/** Parses the text that was confirmed, even if the file has changed since. */
async function load(
  path: string,
  directory: string,
  text: string,
  { env }: Pick<Io, 'env'>,
): Promise<Settings> {
  const { config, warnings } = await loadConfig(path, { env, cwd: directory, readFile: async () => text })
  return { config, warnings: warnings.map((warning) => `${path}: ${warning}`), files: [path] }
}

/** Merges the configurations. The workspace's takes precedence, but cannot loosen how commands are confined. */
function merge(own: AgentConfig | undefined, user: AgentConfig | undefined): AgentConfig {
  const configs = [own, user].filter((config) => config !== undefined)
  return {
    ...user,
    ...own,
    ...(own === undefined ? {} : stricterConfinement(user ?? {}, own)),
    providers: firstByName(configs.flatMap(({ providers }) => providers)),
    mcpServers: firstByName(configs.flatMap(({ mcpServers }) => mcpServers)),
  }
}

function firstByName<Named extends { readonly name: string }>(all: readonly Named[]): Named[] {
  return all.filter(({ name }, at) => all.findIndex((other) => other.name === name) === at)
}
