import { writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { InProcessRunQueue } from '../../src/run-queue/in-process-queue.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { directoryWith, newAgent } from '../agent-dir/support.js'
import { directory, startServer } from '../server/support.js'
import { chromium, expectNoViolations } from './browser.js'
import { begin, picture, visit } from './visit.js'

const timeout = 600_000

describe.skipIf(chromium === undefined)('the views of the inspector for operators', { timeout }, () => {
  it('shows the schedules of a served agent directory with their next and last fires', async () => {
    const [store, workspace] = [new MemorySessionStore(), directory()]
    const agent = await newAgent()
    const dir = await directoryWith({
      'instructions.md': 'You watch the harbour.',
      'schedules/morning.md': '---\ncron: "0 9 * * 1-5"\ntime_zone: Europe/Berlin\n---\nCount the ships.',
      'schedules/logs.md': '---\nwatch: [logs/*.txt]\n---\nRead the logs.',
    })
    const served = await agent.serveAgentDir(dir, workspace, {
      sessionStore: store,
      model: scriptedModel((_, n) => `There are ${n + 3} ships.`),
    })
    await served.runNow('morning')
    await served.runNow('morning')
    const started = await startServer({
      inspector: true,
      store,
      workspaces: [workspace],
      agentDirs: [served],
      token: [{ token: 'token-of-the-tests-0001' }, { token: 'token-of-a-tenant-0002', tenantId: 'acme' }],
    })
    const { body } = await started.call('GET', '/v1/schedules')
    expect(body.schedules).toMatchObject([
      { name: 'logs', triggers: ['file'], running: false, recent: [] },
      {
        name: 'morning',
        cron: '0 9 * * 1-5',
        nextFireAtMs: expect.any(Number),
        last: { status: 'completed', source: 'api', text: 'There are 4 ships.' },
        recent: [{ text: 'There are 4 ships.' }, { text: 'There are 3 ships.' }],
      },
    ])
    const tenant = { authorization: 'Bearer token-of-a-tenant-0002' }
    expect((await started.call('GET', '/v1/schedules', undefined, tenant)).body).toEqual({ schedules: [] })

    const { page, problems } = await visit(started)
    await page.getByRole('link', { name: 'Schedules' }).click()
    const morning = page.getByRole('region', { name: 'Schedule morning' })
    await morning.getByText('0 9 * * 1-5 (Europe/Berlin)').waitFor()
    expect(await morning.getByText('There are 3 ships.').count()).toBe(1)
    await page.getByRole('region', { name: 'Schedule logs' }).getByText('file changes').waitFor()
    await expectNoViolations(page, 'the schedules')
    await picture(page, 'schedules')
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectNoViolations(page, 'the schedules in the dark')
    await picture(page, 'schedules-dark')
    await morning.getByRole('link', { name: 'morning' }).click()
    await page.locator('.end').nth(1).waitFor()
    expect(problems).toEqual([])
    await served.stop()
  })

  it('shows lanes, workers and dead runs of the cluster, and queues a dead run again', async () => {
    const store = new MemorySessionStore()
    const queue = new InProcessRunQueue({ store })
    onTestFinished(() => queue.close())
    const started = await startServer({ inspector: true, store, queue })
    await begin(started, 'Weigh the anchor.', 'Anchor')
    const member = await queue.join({
      ...{ name: 'quay-1', host: 'quay', pid: 1, version: '1.0.0', slots: 4, lanes: ['default'] },
    })
    const [claim] = await member.claim({ lanes: ['default'], max: 1 })
    if (claim === undefined) throw new Error('The run is not in the queue.')
    const error = { code: 'too_many_takeovers', message: 'Its workers ended five times without progress.' }
    await member.settle(claim, { state: 'dead', error })
    await begin(started, 'Scrub the deck.', 'Deck')

    const { page, problems } = await visit(started)
    await page.getByRole('link', { name: 'Queues' }).click()
    await page.getByRole('region', { name: 'Workers' }).getByText('quay-1').waitFor()
    const dead = page.getByRole('region', { name: 'Dead runs' })
    await dead.getByText(error.message).waitFor()
    await expectNoViolations(page, 'the queues')
    await picture(page, 'queues')
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectNoViolations(page, 'the queues in the dark')
    await picture(page, 'queues-dark')
    await dead.getByRole('button', { name: 'Retry' }).click()
    await dead.getByText('is queued again').waitFor()
    await dead.getByText('None.').waitFor()
    expect((await queue.get(claim.run.runId))?.state).toBe('queued')
    expect(problems).toEqual([])
    await member.leave()
  })

  it('shows the lanes and dead letters of a session, and the health of its MCP servers', async () => {
    const refusing = createHttpServer((_, response) => response.writeHead(401).end())
    await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', () => resolve()))
    onTestFinished(() => void refusing.close())
    const { port } = refusing.address() as AddressInfo
    const world = fileURLToPath(new URL('../mcp/world-server.mjs', import.meta.url))
    let calls = 0
    const deploy = createJsonTool({
      name: 'deploy',
      description: 'Deploys.',
      parameters: { type: 'object', properties: {} },
      execute: (_, context) => {
        calls += 1
        if (calls > 1) return 'deployed'
        return new Promise((resolve) => context?.signal?.addEventListener('abort', () => resolve('late')))
      },
    })
    const started = await startServer({
      inspector: true,
      hostTools: ['deploy'],
      session: {
        model: scriptedModel([{ toolCalls: [{ name: 'deploy', args: {}, id: 'call-1' }] }, 'Too late.']),
        tools: [deploy],
        permissionPolicy: { allow: ['deploy'] },
        queueConfig: { enableDlq: true, enableMetrics: true, timeoutMs: 3_000 },
        mcpServers: [
          { name: 'world', command: process.execPath, args: [world] },
          { name: 'broken', command: process.execPath, args: ['-e', 'process.exit(3)'] },
          { name: 'guarded', url: `http://127.0.0.1:${port}/mcp` },
          { name: 'unused', command: process.execPath, enabled: false },
        ],
      },
    })
    const sessionId = await begin(started, 'Deploy it.', 'Deployment')
    const { page, problems } = await visit(started, `#/sessions/${sessionId}/lanes`)
    await page.getByRole('cell', { name: 'generate' }).waitFor()
    await page.getByRole('button', { name: 'Retry…' }).waitFor()
    await expectNoViolations(page, 'lanes')
    await picture(page, 'lanes')
    const letters = await started.call('GET', `/v1/sessions/${sessionId}/queue`)
    const [{ commandId }] = letters.body.deadLetters
    const path = `/v1/sessions/${sessionId}/queue/dead-letters/${commandId}/retry`
    expect((await started.call('POST', path, {})).body.code).toBe('call_may_have_run')
    expect((await started.call('POST', path.replace(commandId, 'no'), {})).body.code).toBe(
      'dead_letter_not_found',
    )
    await page.getByRole('button', { name: 'Retry…' }).click()
    await page.getByRole('button', { name: 'Run it, although it may already have run' }).click()
    await page.getByText('There are no dead letters.').waitFor()
    expect(calls).toBe(2)

    await page.getByRole('link', { name: 'Tools and servers' }).click()
    const servers = page.getByRole('region', { name: 'MCP servers' })
    for (const state of ['connected', 'down: retried later', 'sign-in needed', 'disabled'])
      await servers.locator('.badge', { hasText: state }).waitFor()
    await expectNoViolations(page, 'the servers')
    await picture(page, 'servers')
    await page.emulateMedia({ colorScheme: 'dark' })
    await picture(page, 'servers-dark')
    expect(problems).toEqual([])
  })

  it('limits the list of sessions by words, status, model, agent, tenant and label, with a link for it', async () => {
    const token = 'token-of-the-tests-0001'
    const started = await startServer({
      inspector: true,
      token: [
        { token, id: 'operator', allTenants: true },
        { token: 'token-of-a-tenant-0002', id: 'ann', tenantId: 'acme' },
      ],
      session: { model: scriptedModel(Array.from({ length: 9 }, () => 'Done.')) },
    })
    writeFileSync(`${started.workspace}/a.txt`, 'a')
    await begin(started, 'Count the ships.', 'Ships')
    const tenant = { authorization: 'Bearer token-of-a-tenant-0002' }
    await started.call('POST', '/v1/sessions', { title: 'Cargo' }, tenant)
    // A caller without the right sees its own tenant alone.
    const own = await started.call('GET', '/v1/sessions', undefined, tenant)
    expect(own.body.sessions).toMatchObject([{ title: 'Cargo', labels: { tenantId: 'acme' } }])

    const { page, problems } = await visit(started)
    await page.getByRole('link', { name: 'Ships' }).waitFor()
    await page.getByRole('link', { name: 'Cargo' }).waitFor()
    await page.getByLabel('Tenant').selectOption('acme')
    await page.getByText('1 session ·').waitFor()
    expect(new URL(page.url()).hash).toBe('#/?tenant=acme')
    await expectNoViolations(page, 'the list with filters')
    await picture(page, 'filters')
    // The link alone limits the list.
    await page.evaluate(() => location.assign('#/?search=count+ships&status=completed'))
    await page.getByRole('link', { name: 'Ships' }).waitFor()
    await page.getByText('1 session ·').waitFor()
    expect(await page.getByLabel('Search sessions').inputValue()).toBe('count ships')
    await page.evaluate(() => location.assign('#/?label=principal%3A+ann'))
    await page.getByRole('link', { name: 'Cargo' }).waitFor()
    await page.getByText('1 session ·').waitFor()
    await page.evaluate(() => location.assign('#/?model=none'))
    await page.getByText('No session matches.').waitFor()
    expect(problems).toEqual([])
  })
})
