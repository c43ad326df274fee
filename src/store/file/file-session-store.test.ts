import { mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { checkSessionStore } from '../../testing/session-store-kit.js'
import { FileSessionStore } from './file-session-store.js'

const top = mkdtempSync(join(tmpdir(), 'capstan-store-'))
let made = 0
const fresh = (): string => join(top, `store-${made++}`, 'sessions')

afterAll(() => rmSync(top, { recursive: true, force: true }))

it('keeps every promise of a session store', async () => {
  const problems = await checkSessionStore(() => new FileSessionStore(fresh()), {
    again: (store) => new FileSessionStore((store as FileSessionStore).directory),
    loseLease(store, id) {
      const directory = join((store as FileSessionStore).directory, id)
      for (const name of readdirSync(directory).filter((name) => name.startsWith('lease-')))
        writeFileSync(join(directory, name.replace('-1', '-2')), '{"released":true }')
      unlinkSync(join(directory, 'lease-1.json'))
    },
  })
  expect(problems).toEqual([])
})
