import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { migrate, PostgresSessionStore } from '../../src/postgres/index.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { root } from '../house/run.js'
import { hasPostgres, runSql, sharedServer } from '../support/postgres.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

const run = promisify(execFile)

describe('the packages pg and pg-boss', () => {
  it('are loaded by no entry before a database is used', async () => {
    const entries = ['capstan', 'capstan/cluster', 'capstan/server', 'capstan/postgres']
    const program = `
      import { createRequire } from 'node:module'
      for (const entry of ${JSON.stringify(entries)}) await import(entry)
      const { cache } = createRequire(import.meta.url)
      console.log(JSON.stringify(Object.keys(cache).filter((file) => /node_modules.pg(-boss|-pool)?[\\\\/]/.test(file))))
      const { PostgresSessionStore } = await import('capstan/postgres')
      await new PostgresSessionStore({ url: 'postgres://127.0.0.1:1/x', maxWaitMs: 0 }).list().catch(() => undefined)
      console.log(Object.keys(cache).some((file) => /node_modules.pg[\\\\/]/.test(file)))
    `
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: root })
    expect(stdout).toBe('[]\ntrue\n')
  })
})

describe.skipIf(!hasPostgres())('a configuration with storage_backend = "postgres"', () => {
  it('stores its sessions in the database of storage_url', async () => {
    const url = await sharedServer()
    await migrate(url)
    onTestFinished(async () => {
      for (const name of ['capstan', 'capstan_jobs'])
        await runSql(url, `drop schema if exists ${name} cascade`)
    })
    const agent = await Agent.create(`storage_backend = "postgres"\nstorage_url = "${url}"\n`, {
      userDir: temporaryDirectory(),
    })
    onTestFinished(() => agent.close())
    const session = agent.session(temporaryDirectory(), { model: scriptedModel(['stored']) })
    await session.send('x')
    await session.close()
    await agent.close()
    const store = new PostgresSessionStore({ url })
    onTestFinished(() => store.close())
    expect((await store.list()).map(({ id }) => id)).toEqual([session.sessionId])
  })
})
