import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { workspaceRoot } from '../../agent/workspace-root.js'
import { messageOf } from '../../tool/errors.js'
import { openConfirmations } from '../../workspace/rules/confirmations.js'
import { readIfThere } from '../../workspace/rules/read-if-there.js'
import type { Args } from '../args.js'
import { CommandLineError } from '../errors.js'
import type { Io } from '../io.js'
import { userDirOf } from './user-dir.js'

/**
 * The `capstan.acl` of a workspace. It came with the workspace, and can send API keys to another server or start
 * programs, so it has no effect until the user confirms its exact text.
 */
export type WorkspaceConfig = {
  readonly path: string
  readonly text: string
  readonly confirmed: boolean
  /** A hash of the directory and the text that the user confirms. */
  readonly confirmation: string
}

export type ConfigPlace = {
  /** The real path of the workspace. */
  readonly root: string
  readonly userDir: string
}

/** The place of the configuration for the option `--directory`. */
export function configPlaceOf(args: Args, io: Io): ConfigPlace {
  return { root: workspaceRoot(args.value('directory') ?? '.', io.cwd), userDir: userDirOf(io) }
}

export const configName = 'capstan.acl'
const maxFileBytes = 1024 * 1024

/** Reads the `capstan.acl` of a workspace; undefined without one. */
export async function readWorkspaceConfig(place: ConfigPlace): Promise<WorkspaceConfig | undefined> {
  const path = join(place.root, configName)
  const text = await readIfThere(path, maxFileBytes).catch((error: unknown) => {
    throw new CommandLineError(`${path} cannot be used: ${messageOf(error)}.`)
  })
  if (text === undefined) return undefined
  const confirmation = createHash('sha256')
    .update(`capstan-config-${versionOf(text)}\0${place.root}\0${text}`)
    .digest('hex')
  const confirmed = (await openConfirmations(place).all()).has(confirmation)
  return { path, text, confirmed, confirmation }
}

/**
 * The version of the file format's semantics. Version 1 confined the programs of MCP servers and version 2 does not, so
 * a file that can have MCP servers must be confirmed again.
 */
function versionOf(text: string): 1 | 2 {
  return /mcp/i.test(text) ? 2 : 1
}

export async function confirmWorkspaceConfig(place: ConfigPlace, confirmation: string): Promise<void> {
  const file = await readWorkspaceConfig(place)
  if (file?.confirmation !== confirmation)
    throw new CommandLineError('The file has changed since it was shown.', 'Read it again, then confirm it.')
  await openConfirmations(place).add(confirmation)
}
