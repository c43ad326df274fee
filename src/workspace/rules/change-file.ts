import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { exclusively } from './exclusive.js'

/** Replaces the text of a file of the user, while no other process changes it. */
export async function changeFile(file: string, next: () => Promise<string>): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await exclusively(file, async (assertMine) => replace(file, await next(), assertMine))
}

/** Replaces the file in one step, readable only for this user. */
async function replace(file: string, text: string, assertMine: () => Promise<void>): Promise<void> {
  const next = `${file}.${randomUUID()}.new`
  const handle = await open(next, 'wx', 0o600)
  try {
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await assertMine()
    await rename(next, file)
  } catch (error) {
    await rm(next, { force: true })
    throw error
  }
}
