import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { loadSettings } from './load-settings.js'
import { confirmWorkspaceConfig, readWorkspaceConfig } from './workspace-config.js'

/** The settings of a workspace whose file the user has confirmed. */
async function settings(workspaceFile: string, userFile: string) {
  const directory = realpathSync(temporaryDirectory())
  const place = { root: join(directory, 'work'), userDir: join(directory, 'user') }
  for (const path of Object.values(place)) mkdirSync(path)
  writeFileSync(join(place.root, 'capstan.acl'), workspaceFile)
  writeFileSync(join(place.userDir, 'config.acl'), userFile)
  await confirmWorkspaceConfig(place, (await readWorkspaceConfig(place))?.confirmation ?? '')
  return (await loadSettings(place, { env: {}, cwd: place.root })).config
}

it('a confirmed file of a workspace weakens neither the sandbox nor the limits of the user', async () => {
  const config = await settings(
    'default_model = "a/b"\nsandbox = "off"\ncommand_limits {\n  processes = 900000\n  disk_bytes = 5000\n}\n',
    'sandbox = "required"\ncommand_limits {\n  processes = 100\n}\n',
  )
  expect(config).toMatchObject({
    defaultModel: 'a/b',
    sandbox: 'required',
    commandLimits: { processes: 100, diskBytes: 5000 },
  })
})

it('a confirmed file of a workspace does not turn off the sandbox that a user without settings has', async () => {
  expect((await settings('sandbox = "off"\n', '')).sandbox).toBe('auto')
})
