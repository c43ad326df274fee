import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FileMemoryStore } from '../../src/memory/index.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { openPlace } from './drive.js'

it('capstan memory lists, shows and deletes memories, each with its origin', async () => {
  const place = await openPlace()
  const none = await place.run(['memory'])
  expect(none.code).toBe(1)
  expect(none.stderr).toContain('set memory_dir')

  const memoryDir = temporaryDirectory()
  const config = join(temporaryDirectory(), 'c.acl')
  writeFileSync(config, `memory_dir = "${memoryDir}"\n`)
  writeFileSync(join(memoryDir, 'mine.md'), 'a note of \u001b[31ma person')
  await new FileMemoryStore(memoryDir).add({
    id: 'port',
    content: 'The test needs port 5433.',
    createdAtMs: Date.UTC(2026, 0, 31),
    importance: 0.4,
    tags: ['model'],
    memoryType: 'semantic',
    metadata: { source: 'model', sessionId: 's1', runId: 'r1' },
  })
  const run = (...argv: string[]) => place.run(['memory', ...argv, '--config', config])
  const { stdout } = await run()
  expect(stdout).toContain('port  2026-01-31 00:00  model (session s1, run r1)  The test needs port 5433.')
  expect(stdout).toMatch(/mine {2}.* {2}host or user {2}a note of/)
  expect(stdout).not.toContain('\u001b')
  expect(JSON.parse((await run('show', 'port', '--json')).stdout)).toMatchObject({
    id: 'port',
    tags: ['model'],
  })
  expect((await run('show', 'port')).stdout).toContain('origin: model (session s1, run r1)')
  expect((await run('forget', 'port', 'nothing')).code).toBe(1)
  expect((await run('show', 'port')).code).toBe(1)
})
