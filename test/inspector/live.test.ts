import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/index.js'
import type { AgentEvent } from '../../src/loop/events.js'
import { scriptedModel, startModelServer } from '../../src/testing/index.js'
import { type ServerProcess, spawnServer } from '../server/process.js'
import { directory, startServer, token } from '../server/support.js'
import { chromium, expectNoViolations } from './browser.js'
import { visit } from './visit.js'

const timeout = 600_000

describe.skipIf(chromium === undefined)('a live session in Chromium', { timeout }, () => {
  it('is answered in one browser; another browser and a program that also wait see the answers', async () => {
    const started = await startServer({
      inspector: true,
      session: { model: scriptedModel(askingScript), permissionPolicy: { ask: ['edit', 'write'] } },
    })
    const file = join(started.workspace, 'config.json')
    writeFileSync(file, '{ "port": 80 }\n')
    const session = await createClient({ url: started.url, token }).createSession({ title: 'Answer' })
    const run = await session.run('Change the port.')
    const seen: AgentEvent[] = []
    const ended = (async () => {
      for await (const { event } of run.events()) seen.push(event)
    })()
    const hash = `#/sessions/${session.sessionId}/timeline`
    const [one, other] = [await visit(started, hash), await visit(started, hash)]

    // For the session: the rule is shown before, and the second edit is not asked for.
    const edit = one.page.getByRole('region', { name: 'Approval of edit' })
    await edit.getByText('“For the session” adds the rule edit(config.json)').waitFor()
    await other.page.getByRole('region', { name: 'Approval of edit' }).waitFor()
    await edit.getByRole('button', { name: 'For the session' }).click()

    // Rejected with a message, which the model gets.
    const write = one.page.getByRole('region', { name: 'Approval of write' })
    await write.getByLabel('Message to the model').fill('Use another name.')
    await other.page.getByRole('region', { name: 'Approval of write' }).waitFor()
    expect(await other.page.getByRole('region', { name: 'Approval of edit' }).count()).toBe(0)
    await write.getByRole('button', { name: 'Reject' }).click()

    // A question with several answers, and one with a text of one's own.
    const question = other.page.getByRole('region', { name: 'Question of the model' })
    await one.page.getByRole('region', { name: 'Question of the model' }).waitFor()
    await question.getByLabel('staging').check()
    await expectNoViolations(other.page, 'a question')
    await question.getByRole('button', { name: 'Answer' }).click()
    await one.page.locator('.end').waitFor()
    await expect.poll(() => one.page.locator('.card.waits').count()).toBe(0)
    await ended

    const answers = seen.flatMap((event) => (event.type === 'confirmation_received' ? [event] : []))
    expect(answers).toMatchObject([
      { approved: true, decision: 'session' },
      { approved: false, reason: expect.stringContaining('Use another name.') },
    ])
    expect(seen.filter(({ type }) => type === 'confirmation_required')).toHaveLength(2)
    expect(seen.at(-1)).toMatchObject({ type: 'agent_end', result: { text: 'Done.' } })
    expect(readFileSync(file, 'utf8')).toBe('{ "port": 8081 }\n')
    const outputs = seen.flatMap((event) => (event.type === 'tool_end' ? [event.toolOutput] : []))
    expect(outputs[2]).toContain('Use another name.')
    expect(outputs[3]).toContain('staging')
    expect([...one.problems, ...other.problems]).toEqual([])
  })

  it('is followed through a restart of its server, with a notice, and shows every entry once', async () => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let asked = 0
    const models = await startModelServer(async (request) => {
      asked += 1
      const isSecond = JSON.stringify(request.body).includes('"role":"tool"')
      if (!isSecond)
        return { text: 'I look at the files.', toolCalls: [{ name: 'glob', args: { pattern: '*.acl' } }] }
      await released
      return 'The listing is complete.'
    })
    const cwd = directory()
    const config = join(cwd, 'server.acl')
    writeFileSync(
      config,
      `default_model = "local/test"\nproviders "local" { base_url = "${models.url}/v1" api_key = "key-of-the-test" models "test" {} }\n`,
    )
    const start = (port?: number): Promise<ServerProcess> =>
      spawnServer(['--config', config, '--store', 'sessions'], {
        cwd,
        env: { CAPSTAN_SERVER_TOKEN: token },
        ...(port !== undefined && { port }),
      })
    let server = await start()
    const { url } = server
    const client = createClient({ url, token, reconnectMs: 50 })
    const session = await client.createSession({ title: 'Restart' })
    const run = await session.run('Look.')
    const { page } = await visit({ url }, `#/sessions/${session.sessionId}/timeline`)
    await page.locator('.call', { hasText: '*.acl' }).waitFor()
    await expect.poll(() => asked).toBe(2)

    server.child.kill('SIGKILL')
    await server.ended
    await page.getByRole('alert').getByText('The server does not answer. Trying again…').waitFor()
    await expectNoViolations(page, 'a server that does not answer')
    server = await start(Number(new URL(url).port))
    await page.getByRole('alert').waitFor({ state: 'detached' })

    // A reader resumes the run, in the new process; the page, which only looks, does not.
    expect(asked).toBe(2)
    const ended = (async () => {
      for await (const { event } of run.events()) if (event.type === 'agent_end') return event
      return undefined
    })()
    await expect.poll(() => asked).toBe(3)
    release()
    expect(await ended).toMatchObject({ result: { text: 'The listing is complete.' } })
    await page.locator('.end.completed').waitFor()
    const counts = async (): Promise<number[]> =>
      Promise.all(
        [
          '.call',
          '.end',
          '.answer >> text=I look at the files.',
          '.answer >> text=The listing is complete.',
        ].map((one) => page.locator(one).count()),
      )
    // The list shows entries as it learns their heights.
    await expect.poll(counts).toEqual([1, 1, 1, 1])
    // The same for a page that comes later.
    await page.reload()
    await page.locator('.end.completed').waitFor()
    await expect.poll(counts).toEqual([1, 1, 1, 1])
    server.child.kill('SIGTERM')
    await server.ended
    await models.close()
  })
})

const askingScript = [
  { toolCalls: [{ name: 'edit', args: { file_path: 'config.json', old_string: '80', new_string: '8080' } }] },
  {
    toolCalls: [{ name: 'edit', args: { file_path: 'config.json', old_string: '8080', new_string: '8081' } }],
  },
  { toolCalls: [{ name: 'write', args: { file_path: 'notes.txt', content: 'The port is 8081.' } }] },
  {
    toolCalls: [
      {
        name: 'question',
        args: {
          questions: [
            { question: 'Which environment?', options: [{ label: 'staging' }, { label: 'production' }] },
          ],
        },
      },
    ],
  },
  'Done.',
]
