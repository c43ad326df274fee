import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionRecord } from '../../src/store/records.js'
import { scriptedModel } from '../../src/testing/index.js'
import { directory, startServer } from '../server/support.js'
import { chromium, expectNoViolations } from './browser.js'
import { begin, picture, visit } from './visit.js'

const timeout = 600_000

describe.skipIf(chromium === undefined)('the inspector in Chromium', { timeout }, () => {
  it('shows a run live with the rule of each verdict; an edit is approved and a question answered there', async () => {
    const started = await startServer({
      inspector: true,
      session: {
        model: scriptedModel(portScript),
        permissionPolicy: { deny: ['read(**/.env)'], allow: ['read'], ask: ['edit'] },
      },
    })
    writeFileSync(join(started.workspace, 'config.json'), '{\n  "name": "harbour",\n  "port": 80\n}\n')
    writeFileSync(join(started.workspace, '.env'), 'KEY=secret\n')
    const sessionId = await begin(started, 'Let the service listen on port 8080.', 'Change the port')
    const { page, problems } = await visit(started)
    await page.getByRole('link', { name: 'Change the port' }).waitFor()
    await page.getByRole('link', { name: 'Change the port' }).click()

    const approval = page.getByRole('region', { name: 'Approval of edit' })
    await approval.locator('.added', { hasText: '8080' }).waitFor()
    await expectNoViolations(page, 'an approval')
    await picture(page, 'approval')
    await approval.getByRole('button', { name: 'Approve once' }).click()
    const question = page.getByRole('region', { name: 'Question of the model' })
    await question.getByLabel('staging').check()
    await question.getByRole('button', { name: 'Answer' }).click()
    await page.locator('.end').waitFor()
    await picture(page, 'timeline')

    // A link is inert: the first click shows where it leads.
    await page.getByRole('button', { name: 'the notes' }).click()
    await page.getByText('https://example.com/notes').waitFor()
    expect(page.url()).toContain(sessionId)

    // The verdicts say which rule of which scope decided, and who approved.
    const edit = page.locator('.call', { has: page.locator('.tool', { hasText: 'edit' }) })
    await edit.locator('.head').click()
    await edit.getByText(/approved \(once\) by token-/).waitFor()
    await edit.locator('.head').click()
    const denied = page.locator('.call', { has: page.locator('.about', { hasText: '.env' }) })
    await denied.locator('.head').click()
    await denied.locator('.step', { hasText: 'Rules' }).getByText('read(**/.env)').first().waitFor()
    await expectNoViolations(page, 'the timeline')
    await picture(page, 'verdict')

    // What if: without the deny, the same code allows the call. Nothing of it is saved.
    await denied.getByRole('button', { name: 'Why?' }).click()
    const why = denied.getByRole('region', { name: 'Explanation', exact: true })
    await why.locator('.tree .decides').first().waitFor()
    await why.getByLabel('Rule', { exact: true }).fill('')
    await why.getByLabel('without').selectOption({ label: 'deny read(**/.env) (manifest)' })
    await why.getByRole('button', { name: 'Judge again' }).click()
    await why.locator('.tree').nth(1).locator('b.allow').first().waitFor()
    await expectNoViolations(page, 'an explanation')
    await picture(page, 'why')
    const body = { toolName: 'read', args: { file_path: '.env' } }
    const explained = await started.call('POST', `/v1/sessions/${sessionId}/permissions/explain`, body)
    expect(explained.body.action).toBe('deny')

    await page.getByRole('link', { name: 'Usage' }).click()
    await page.locator('svg.chart').first().waitFor()
    await picture(page, 'usage')
    await page.getByRole('link', { name: 'File changes' }).click()
    await page.locator('.change .added', { hasText: '8080' }).waitFor()
    await page.getByRole('button', { name: 'Undo these changes…' }).click()
    await page.getByRole('button', { name: 'Restore 1 file now' }).click()
    await page.getByText('Restored 1 file.').waitFor()
    await page.getByRole('link', { name: 'Tools and servers' }).click()
    await page.locator('.tools summary').first().waitFor()

    // Dark, and narrow.
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.getByRole('link', { name: 'Timeline' }).click()
    await page.locator('.call .head').first().click()
    await picture(page, 'dark')
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    await page.getByRole('link', { name: 'Sessions' }).click()
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    expect(problems).toEqual([])
  })

  it('shows hostile text as text, without running, loading or reordering anything', async () => {
    const started = await startServer({ inspector: true, session: { model: scriptedModel([hostile]) } })
    const sessionId = await begin(started, hostile, '<img src=x onerror="globalThis.ran=1">\u202egnp.exe')
    const { page, problems } = await visit(started, `#/sessions/${sessionId}/timeline`)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.locator('.end').waitFor()
    const shown = (await page.locator('main').textContent()) ?? ''
    expect(shown).toContain('<script>globalThis.ran=1</script>')
    expect(shown).toContain('\\u202e')
    expect(shown).toContain('\\x1b[31m')
    for (const sign of ['\u202e', '\u2066', '\u001b']) expect(shown).not.toContain(sign)
    await page.getByRole('button', { name: 'a trap' }).click()
    expect(await page.locator('main a[href^="javascript"], main img, main iframe, main script').count()).toBe(
      0,
    )
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false)
    expect(asked.filter((url) => !url.startsWith(started.url))).toEqual([])
    expect(problems).toEqual([])
  })

  it('shows 10,000 events and a line of 10 MB with few elements, replays them, and compares two sessions', async () => {
    const [store, workspace] = [new MemorySessionStore(), directory()]
    await write(
      store,
      'long',
      [
        ...Array.from({ length: 5_000 }, (_, at) => callEvents(at)).flat(),
        ...Array.from({ length: 20 }, (_, at) => notice(`${at} ${'y'.repeat(1_000_000)}`)),
        notice(`${'x'.repeat(10_000_000)} and its end`),
      ],
      workspace,
    )
    await write(store, 'short', [...callEvents(0), ...callEvents(7)], workspace)
    await write(store, 'other', [...callEvents(0), ...callEvents(8)], workspace)
    const started = await startServer({ inspector: true, store, workspaces: [workspace] })
    const { page, problems } = await visit(started)
    // Counts, not times: `npm run bench -- inspector` measures those.
    const logs: Promise<{ url: string; bytes: number }>[] = []
    page.on('response', (response) => {
      const size = async () => ({ url: response.url(), bytes: (await response.body()).length })
      if (response.url().includes('/log?')) logs.push(size())
    })
    await page.evaluate(() => location.assign('#/sessions/long/timeline'))
    await page.getByText('10,023 of 10,023 events').waitFor()
    expect(await page.locator('.virtual li').count()).toBeLessThan(100)
    const pages = await Promise.all(logs)
    expect(pages[0]?.bytes).toBeLessThan(100_000)
    expect(Math.max(...pages.map(({ bytes }) => bytes))).toBeLessThan(1_100_000)
    expect(pages.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(5_000_000)
    const list = page.locator('.virtual')
    // Twice: the rows near the end are measured when they are shown.
    for (let times = 0; times < 2; times++)
      await list.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    // What is long is read when it is opened.
    const line = page.locator('.event', { hasText: 'xxx' })
    await line.locator('summary').click()
    await line.getByRole('button', { name: /^Show more \(9,980,\d+ characters left\)$/ }).waitFor()
    expect((await Promise.all(logs)).at(-1)?.bytes).toBeGreaterThan(10_000_000)
    await line.locator('summary').click()
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2))
    await page
      .locator('.about', { hasText: /file-2[45]\d\d\.txt/ })
      .first()
      .waitFor()
    expect(await page.locator('.virtual li').count()).toBeLessThan(100)

    // Replay: as it was after the second call.
    await page.getByLabel('Replay').fill('5')
    await page.getByText('5 of 10,023 events').waitFor()
    await expect.poll(() => page.locator('.call').count()).toBe(2)

    // A link to a call opens it.
    await page.evaluate(() => location.assign('#/sessions/short/timeline/call-7'))
    await page.locator('.call.open', { hasText: 'file-7.txt' }).waitFor()
    await page.evaluate(() => location.assign('#/compare/short/other'))
    await page.locator('.pair.differs', { hasText: 'file-8.txt' }).waitFor()
    expect(await page.locator('.pair.differs').count()).toBe(1)
    await picture(page, 'compare')
    expect(problems).toEqual([])
  })
})

const portScript = [
  {
    text: 'I read the **configuration** first.',
    toolCalls: [
      { name: 'read', args: { file_path: 'config.json' }, id: 'call-read' },
      { name: 'read', args: { file_path: '.env' }, id: 'call-env' },
    ],
  },
  {
    toolCalls: [
      {
        name: 'edit',
        args: { file_path: 'config.json', old_string: '"port": 80', new_string: '"port": 8080' },
        id: 'call-edit',
      },
    ],
  },
  {
    toolCalls: [
      {
        name: 'question',
        args: {
          questions: [
            { question: 'Which environment?', options: [{ label: 'staging' }, { label: 'production' }] },
          ],
        },
        id: 'call-question',
      },
    ],
  },
  'The service listens on **8080** now. See [the notes](https://example.com/notes).',
]

const hostile = [
  '<script>globalThis.ran=1</script> <img src=x onerror="globalThis.ran=1">',
  '<iframe srcdoc="<script>parent.ran=1</script>"></iframe>',
  '![tracker](https://evil.example/pixel.png) [a trap](javascript:globalThis.ran=1)',
  'reversed \u202etxt.exe\u202c and \u2066isolated\u2069, colored \u001b[31mred\u001b[0m',
].join('\n\n')

type StoredEvent = Extract<SessionRecord, { type: 'run_event' }>['data']['event']

function notice(message: string): StoredEvent {
  return { type: 'notice', source: 'test', message }
}

function callEvents(at: number): StoredEvent[] {
  const call = { toolId: `call-${at}`, toolName: 'read' }
  const judged = { action: 'allow', layers: [] }
  return [
    { type: 'tool_execution_start', ...call, args: JSON.stringify({ file_path: `file-${at}.txt` }) },
    {
      type: 'tool_end',
      ...call,
      exitCode: 0,
      isError: false,
      metadata: {},
      decision: { endedAt: 'done', durationMs: 1, judged },
    },
  ]
}

/** Writes a session with one run of these events. */
async function write(
  store: MemorySessionStore,
  id: string,
  events: readonly StoredEvent[],
  workspaceRoot: string,
): Promise<void> {
  const atMs = Date.UTC(2026, 0, 1)
  const runId = `run-${id}`
  const all: StoredEvent[] = [
    { type: 'agent_start', runId, prompt: 'Read them all.' },
    ...events,
    { type: 'error', error: 'It ended.' },
  ]
  const log = await store.open(id, { holder: 'test', now: () => atMs })
  await log.append([
    { type: 'session', data: { id, schemaVersion: 1, createdAtMs: atMs, updatedAtMs: atMs, workspaceRoot } },
    {
      type: 'run',
      data: {
        id: runId,
        sessionId: id,
        status: 'failed',
        prompt: 'Read them all.',
        createdAtMs: atMs,
        updatedAtMs: atMs,
      },
    },
    ...all.map((event, at): SessionRecord => {
      const data = { runId, sequence: at + 1, timestampMs: atMs + at, event }
      return { type: 'run_event', data }
    }),
  ])
  await log.close()
}
