import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import { openConfirmations } from '../../workspace/rules/confirmations.js'
import { readIfThere } from '../../workspace/rules/read-if-there.js'
import { CommandLineError } from '../errors.js'

/**
 * The `capstan.acl` of a workspace. It came with the workspace, and could send keys to an address of its own or start programs: until the
 * user confirms its very text, nothing of it has effect.
 */
export type WorkspaceConfig = {
  readonly path: string
  readonly text: string
  readonly confirmed: boolean
  /** What the user confirms: this text in this directory, and no other. */
  readonly confirmation: string
}

export type ConfigPlace = {
  /** The real path of the workspace. */
  readonly root: string
  readonly userDir: string
}

export const configName = 'capstan.acl'
const maxFileBytes = 1024 * 1024

/** Undefined where there is none. */
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
 * The version of what a text means. Programs of MCP servers used to be confined and start as written since: a file that may name some has
 * to be confirmed again.
 */
function versionOf(text: string): 1 | 2 {
  return /mcp/i.test(text) ? 2 : 1
}

export async function confirmWorkspaceConfig(place: ConfigPlace, confirmation: string): Promise<void> {
  const file = await readWorkspaceConfig(place)
  if (file?.confirmation !== confirmation)
    throw new CommandLineError('The file has changed since it was shown, or is gone.', 'Look at it again.')
  await openConfirmations(place).add(confirmation)
}
