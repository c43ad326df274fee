import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../../../test/support/temporary-directory.js'
import { FileWatch } from './file-watch.js'

it('a watch that replaces another reports changes to files of both that the earlier one had not reported', async () => {
  const root = temporaryDirectory()
  mkdirSync(join(root, 'docs'))
  for (const name of ['docs/a.md', 'docs/gone.txt', 'new.md']) writeFileSync(join(root, name), 'one')
  const first = new FileWatch(root, ['docs/*'])
  await first.start()
  for (const name of ['docs/a.md', 'docs/b.md', 'docs/gone.txt', 'new.md'])
    writeFileSync(join(root, name), 'changed')
  // Replaced twice before it looks.
  const second = new FileWatch(root, ['docs/*'], first)
  const last = new FileWatch(root, ['**/*.md'], second)
  const seen: unknown[] = []
  for (let look = 0; look < 4; look++) seen.push(await last.look())
  expect(seen).toEqual([undefined, undefined, ['docs/a.md', 'docs/b.md'], undefined])
})
