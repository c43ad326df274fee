import { execFileSync } from 'node:child_process'
import type { Page, Request } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { Operations } from '../../src/client/operations.js'
import { scriptedModel } from '../../src/testing/index.js'
import { headers, startServer } from '../server/support.js'
import { chromium } from './browser.js'
import { begin, visit } from './visit.js'

const timeout = 600_000

const script = '<script>globalThis.ran=1</script>'
/** Markup, scripts, addresses, and control and direction characters. */
const hostile = [
  `\u202e\u001b[31m\u0000${script}`,
  '<img src=x onerror="globalThis.ran=1"><svg onload="globalThis.ran=1">',
  '<a href="https://evil.example/a">a</a>',
  '![tracker](https://evil.example/pixel.png) [a trap](javascript:globalThis.ran=1)',
  'reversed \u202etxt.exe, \u2066isolated\u2069, \u001b]52;c;aGk=\u0007 \u2028',
].join(' ')
/** What each view has to show of it. */
const escapes = [script, '\\u202e', '\\x1b[31m', '\\x00']

describe.skipIf(chromium === undefined)('hostile texts in the inspector', { timeout }, () => {
  it('are text in every view: no markup, no request to other hosts, no hidden or reordered characters', async () => {
    const started = await startServer({
      inspector: true,
      session: {
        model: scriptedModel(({ chatHistory }) => {
          const history = JSON.stringify(chatHistory)
          if (history.includes('"role":"tool"')) return hostile
          const file_path = history.includes('Wait.') ? 'b.txt' : 'a.txt'
          return { toolCalls: [{ name: 'write', args: { file_path, content: hostile } }] }
        }),
        permissionPolicy: { allow: ['write(a.txt)'], ask: ['write(b.txt)'] },
      },
    })
    const ended = await begin(started, 'Write.', 'Write')
    const waiting = await begin(started, 'Wait.', 'Wait')
    const { page, problems } = await visit(started)
    const elsewhere: string[] = []
    page.on('request', (request: Request) => {
      if (!request.url().startsWith(started.url) && !request.url().startsWith('blob:'))
        elsewhere.push(request.url())
    })
    await answerWithHostileTexts(page)
    const main = page.locator('main')
    const views = [
      { hash: '#/', shows: main.locator('.name a').first() },
      { hash: '#/schedules', shows: main.locator('.card').first() },
      { hash: '#/queues', shows: main.locator('.card').first() },
      { hash: `#/sessions/${waiting}/timeline`, shows: main.locator('.waits').nth(1) },
      { hash: `#/sessions/${ended}/timeline`, shows: main.locator('.end') },
      { hash: `#/sessions/${ended}/usage`, shows: main.locator('svg.chart').first() },
      { hash: `#/sessions/${ended}/changes`, shows: main.locator('.change .added').first() },
      { hash: `#/sessions/${ended}/tools`, shows: main.locator('.tools .card').first() },
      { hash: `#/sessions/${ended}/lanes`, shows: main.locator('.card').first() },
      { hash: `#/compare/${ended}/${waiting}`, shows: main.locator('.pair.differs').first() },
    ]
    for (const { hash, shows } of views) {
      await page.evaluate((to) => location.assign(to), hash)
      await shows.waitFor()
      await openAll(page)
      await expect.poll(() => missing(page), { message: hash }).toEqual([])
      expect({ hash, ...(await findings(page)) }).toEqual({ hash, ...none })
      // A link shows where it leads; only addresses of the web can be opened then, in a page of their own.
      await page.evaluate(() => {
        for (const one of document.querySelectorAll<HTMLElement>('.inert-link .link')) one.click()
      })
      const opened = page.locator('.inert-link a')
      for (const link of await opened.all())
        expect(await link.evaluate((a) => [a.getAttribute('href'), a.getAttribute('rel')])).toEqual([
          'https://evil.example/pixel.png',
          'noopener noreferrer nofollow',
        ])
    }
    await page.unrouteAll({ behavior: 'wait' })
    expect(elsewhere).toEqual([])
    expect(problems).toEqual([])
  })

  it('are copied as one word of a shell command that has no control characters', async () => {
    const name = "x'; touch pwned #\u001b[201~"
    const args = { note: "it's $(touch pwned)\n\u009b \u202e" }
    const started = await startServer({
      inspector: true,
      session: { model: scriptedModel([{ toolCalls: [{ name, args, id: 'call-x' }] }, 'Done.']) },
    })
    const sessionId = await begin(started, 'Call it.', 'Names')
    const { page } = await visit(started, `#/sessions/${sessionId}/timeline/call-x`)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.locator('.call.open').waitFor()
    await page.getByRole('button', { name: 'Copy as a capstan command' }).click()
    await page.getByRole('status').getByText('Copied.').waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied).toMatch(/^[\x20-\x7e]+$/)
    const printed = execFileSync('sh', ['-c', `capstan() { printf '%s\\n' "$@"; }; ${copied}`], {
      cwd: started.workspace,
      encoding: 'utf8',
    })
    const [command, action, toolName, json, ...more] = printed.split('\n')
    expect([command, action, toolName]).toEqual(['tools', 'explain', "x'; touch pwned #\\x1b[201~"])
    expect(JSON.parse(json ?? '')).toEqual(args)
    expect(more).toEqual([''])
  })
})

/** Every text in the answers of the API becomes hostile, except for identifiers and words of a fixed set. */
async function answerWithHostileTexts(page: Page): Promise<void> {
  const fixed = new Map<RegExp, unknown>([
    [/\/v1\/schedules$/, schedules],
    [/\/v1\/cluster$/, cluster],
    [/\/questions$/, questions],
    [/\/queue$/, lanes],
    [/\/mcp$/, servers],
  ])
  await page.route(/\/v1\//, async (route) => {
    const { pathname } = new URL(route.request().url())
    const [, answer] = [...fixed].find(([path]) => path.test(pathname)) ?? []
    if (answer !== undefined) return route.fulfill({ json: answer })
    if (pathname.endsWith('/events')) return route.continue()
    const request = route.request()
    const response = await fetch(request.url(), {
      method: request.method(),
      // The name of the tool is hostile in the page.
      body: pathname.endsWith('/explain') ? JSON.stringify(explained) : request.postData(),
      headers,
    }).catch(() => undefined)
    if (response?.headers.get('content-type')?.includes('json') !== true) return route.abort()
    const end = pathname.endsWith('/changes') ? longLine : ''
    return route.fulfill({ status: response.status, json: poisoned(await response.json(), end) })
  })
}

const explained = { toolName: 'write', args: { file_path: 'a.txt', content: '' } }
const longLine = `\n+${'x'.repeat(10_000_000)}`
const fixedWords = new Set([
  ...['type', 'status', 'state', 'kind', 'action', 'decision', 'source', 'layer', 'decidedBy', 'level'],
  ...['finish', 'mode', 'nextCursor', 'digest', 'endedAt', 'hooks', 'approval', 'csrf'],
])

function poisoned(value: unknown, end: string, key = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => poisoned(one, end, key))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poisoned(one, end, name)]))
  if (typeof value !== 'string' || key.endsWith('Id') || fixedWords.has(key)) return value
  if (key === 'args') return JSON.stringify({ file_path: hostile, [hostile]: hostile })
  return key === 'diff' ? `--- a\n+++ b\n@@ -1 +1 @@\n-${hostile}\n+${hostile}${end}` : `${hostile} ${value}`
}

/** Opens everything that can be opened, links apart. */
async function openAll(page: Page): Promise<void> {
  const click = (names: string): Promise<void> =>
    page.evaluate((all) => {
      for (const one of document.querySelectorAll<HTMLElement>(all)) one.click()
    }, names)
  await click('main details:not([open]) > summary, main .call .head[aria-expanded="false"]')
  const why = page.locator('main .call').getByRole('button', { name: 'Why?' })
  for (const one of await why.all()) await one.click()
  if ((await why.count()) > 0) await page.locator('.why .tree').first().waitFor()
}

async function missing(page: Page): Promise<string[]> {
  const shown = (await page.locator('main').textContent()) ?? ''
  return escapes.filter((one) => !shown.includes(one))
}

const none = { ran: false, elements: [], addresses: [], signs: [], isWithin: true }

/** What must not be in the page. */
async function findings(page: Page): Promise<typeof none> {
  return page.evaluate(() => {
    const all = [...document.querySelectorAll('body *')]
    const dangerous = /(?![\n\t])\p{Cc}|[\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u
    const texts: string[] = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
      texts.push(node.nodeValue ?? '')
    for (const one of all)
      for (const name of ['title', 'aria-label', 'alt', 'placeholder'])
        texts.push(one.getAttribute(name) ?? '')
    return {
      ran: 'ran' in globalThis,
      elements: all
        .filter((one) => one.matches('script, iframe, object, embed, style, link, img, [onerror], [onload]'))
        .map((one) => one.outerHTML.slice(0, 200)),
      addresses: all
        .map((one) => one.getAttribute('href') ?? '')
        .filter((href) => href !== '' && !href.startsWith('#/')),
      signs: texts.filter((text) => dangerous.test(text)).map((text) => JSON.stringify(text.slice(0, 200))),
      isWithin: document.documentElement.scrollWidth <= innerWidth,
    } as { ran: boolean; elements: never[]; addresses: never[]; signs: never[]; isWithin: boolean }
  })
}

const atMs = Date.UTC(2026, 0, 1)
const ids = { sessionId: 'session-1', runId: 'run-1' }

const schedules: Operations['listSchedules']['output'] = {
  schedules: [
    {
      ...{ name: hostile, sessionId: ids.sessionId, cron: hostile, timeZone: hostile, triggers: ['file'] },
      ...{ running: false, nextFireAtMs: atMs },
      last: { firedAtMs: atMs, startedAtMs: atMs, status: 'failed', source: 'api', error: hostile },
      recent: [
        { firedAtMs: atMs, startedAtMs: atMs, status: 'failed', source: 'api', runId: '1', error: hostile },
        { firedAtMs: atMs, startedAtMs: atMs, status: 'completed', source: 'api', runId: '2', text: hostile },
      ],
    },
  ],
}

const cluster: Operations['getCluster']['output'] = {
  status: {
    nodes: [
      {
        ...{ id: 'node-1', name: hostile, host: hostile, version: hostile, slots: 1, lanes: [hostile] },
        ...{ startedAtMs: atMs, seenAtMs: atMs, active: 0, isDraining: false },
      },
    ],
    lanes: [{ lane: hostile, queued: 1, active: 0, oldestWaitMs: 1 }],
    ...{ waiting: 0, dead: 1, takeovers: 0, ended: { completed: 0, failed: 0, cancelled: 0 } },
  },
  dead: [
    {
      ...{ ...ids, prompt: hostile, lane: hostile, tenantId: hostile, attempt: 5 },
      ...{ submittedAtMs: atMs, updatedAtMs: atMs, error: { code: 'too_many_takeovers', message: hostile } },
    },
  ],
}

const questions: Operations['listQuestions']['output'] = {
  questions: [
    {
      questionId: 'question-1',
      agent: hostile,
      questions: [{ question: hostile, options: [{ label: hostile, description: hostile }] }],
    },
  ],
}

const lanes: Operations['getQueue']['output'] = {
  lanes: [{ lane: hostile, pending: 1, active: 1, mode: hostile }],
  tasks: [{ taskId: 'task-1', lane: hostile, toolName: hostile, attempt: 1 }],
  deadLetters: [
    {
      ...{ commandId: 'command-1', toolName: hostile, lane: hostile, args: { [hostile]: hostile } },
      ...{ error: hostile, attempts: 1, failedAtMs: atMs, mayHaveRun: true, canRetry: true },
    },
  ],
}

const servers: Operations['getMcpStatus']['output'] = {
  servers: [
    {
      ...{ name: hostile, state: 'down', connected: false, toolCount: 0, confined: true, sandbox: hostile },
      ...{ error: hostile, failure: { message: hostile, stderr: hostile }, problems: [hostile] },
    },
  ],
}
