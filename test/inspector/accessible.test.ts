import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { linkTo, type MainView, mainViews, type Place, type Tab, tabs } from '../../inspector/src/places.js'
import { InProcessRunQueue } from '../../src/run-queue/in-process-queue.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { directoryWith, newAgent } from '../agent-dir/support.js'
import { directory, type Started, startServer } from '../server/support.js'
import { factor } from '../support/fault-factor.js'
import { chromium, expectNoViolations, openPage } from './browser.js'
import { begin, signIn, visit } from './visit.js'

const timeout = 600_000
const wide = { width: 1280, height: 800 }
const narrow = { width: 390, height: 800 }
/** The rules whose result depends on the colors; the others depend on the elements alone, which the size changes. */
const colorRules = ['color-contrast', 'link-in-text-block']
const looks = [
  { name: 'light', colorScheme: 'light', size: wide, rules: undefined },
  { name: 'dark-narrow', colorScheme: 'dark', size: narrow, rules: undefined },
  // The colors of a style do not depend on the size, so the other two are for `npm run faults`.
  ...(factor > 1
    ? ([
        { name: 'dark', colorScheme: 'dark', size: wide, rules: colorRules },
        { name: 'light-narrow', colorScheme: 'light', size: narrow, rules: colorRules },
      ] as const)
    : []),
] as const
type Look = (typeof looks)[number]

/** What a view shows once it is read. Every view of the router has an entry, or this does not compile. */
const signs: Readonly<Record<MainView | Tab | 'compare', { readonly full: string; readonly empty: string }>> =
  {
    sessions: { full: 'tbody tr', empty: 'p.empty' },
    schedules: { full: '.card table', empty: 'p.empty' },
    queues: { full: 'section[aria-label="Dead runs"] .card', empty: 'p.empty' },
    timeline: { full: '.call', empty: 'p.empty' },
    usage: { full: 'svg.chart', empty: 'p.empty' },
    changes: { full: '.change .added', empty: 'p.empty' },
    tools: { full: 'section[aria-label="MCP servers"] .badge', empty: '.tools summary' },
    lanes: { full: '.lanes .card', empty: 'p.empty' },
    compare: { full: '.pair.differs', empty: 'main' },
  }

describe.skipIf(chromium === undefined)('every view of the inspector', { timeout }, () => {
  it('has no violation of axe-core and fits its screen, light and dark, wide and narrow', async () => {
    const { started, first, second } = await startHarbour()
    const [queue, lanes, asking] = [await startQueue(), await startLanes(), await startAsking()]
    const ofLanes = viewsOf(lanes.sessionId, lanes.sessionId)
    const places: Shown[] = [
      ...viewsOf(first, second).map(({ name, to }, at) => {
        const isOfLanes = name === 'lanes' || name === 'tools'
        return {
          on: isOfLanes ? lanes.started : name === 'queues' ? queue : started,
          name,
          hash: linkTo((isOfLanes ? ofLanes[at]?.to : undefined) ?? to),
          sign: signs[name].full,
        }
      }),
      { on: started, name: 'no-session', hash: '#/sessions/none/timeline', sign: '.failure' },
      { on: started, name: 'no-match', hash: '#/?search=none', sign: 'p.empty' },
      {
        on: asking.started,
        name: 'waiting',
        hash: linkTo(sessionPlace(asking.sessionId, 'timeline')),
        sign: '.card.waits fieldset',
      },
    ]
    // One tab shows one server after the other: each new tab compiles axe-core and the page again.
    const { page, problems } = await visit(queue)
    await checkPlaces(page, queue, places)
    await signIn(page, lanes.started)
    await checkPlaces(page, lanes.started, places)
    await signIn(page, asking.started)
    await checkPlaces(page, asking.started, places)
    await signIn(page, started, linkTo(sessionPlace(first, 'timeline')))
    await page.locator('.end').waitFor()
    await checkPlaces(page, started, places)
    for (const look of looks) {
      await show(page, look)
      // The timeline is opened again, so that it has no open call.
      await page.evaluate((to) => location.assign(to), linkTo({ view: 'sessions' }))
      await page.locator(signs.sessions.full).first().waitFor()
      await page.evaluate((to) => location.assign(to), linkTo(sessionPlace(first, 'timeline')))
      const call = page.locator('.call').first()
      await call.locator('.head').click()
      await call.getByRole('button', { name: 'Why?' }).click()
      await check(page, '.call .tree', 'call', look)
      await call.locator('.head').click()
      await page.getByRole('button', { name: 'Share' }).click()
      const panel = page.getByRole('region', { name: 'Links for reading' })
      await panel.getByRole('button', { name: 'Create a link' }).click()
      await panel.getByLabel('The link').waitFor()
      await check(page, 'section[aria-label="Links for reading"] li', 'links', look)
      await panel.getByRole('button', { name: 'Revoke' }).first().click()
      await page.getByRole('button', { name: 'Share' }).click()
    }
    expect(problems.filter((text) => !text.includes('404'))).toEqual([])
  })

  it('has none without any data either, nor in sessions that did nothing', async () => {
    const [bare, idle] = [await startServer({ inspector: true }), await startServer({ inspector: true })]
    const ids: string[] = []
    for (const title of ['Nothing', 'Nothing else'])
      ids.push((await idle.call('POST', '/v1/sessions', { title })).body.sessionId)
    const [first = '', second = ''] = ids
    const places = viewsOf(first, second).map(
      ({ name, to }): Shown => ({
        on: to.view === 'session' || to.view === 'compare' ? idle : bare,
        name: `empty-${name}`,
        hash: linkTo(to),
        sign: signs[name].empty,
      }),
    )
    const { page } = await visit(bare)
    await checkPlaces(page, bare, places)
    await signIn(page, idle)
    await checkPlaces(page, idle, places)
  })

  it('has none on the sign-in page either, which accepts no wrong token', async () => {
    const started = await startServer({ inspector: true })
    const { page } = await openPage()
    await page.goto(`${started.url}/inspect/`)
    for (const look of looks) {
      await show(page, look)
      await page.getByLabel('Or use the server token').fill('not-the-token-of-it')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('The server does not accept this token.').waitFor()
      await check(page, 'main', 'sign-in', look)
    }
  })
})

function sessionPlace(sessionId: string, tab: Tab): Place {
  return { view: 'session', sessionId, tab }
}

/** Every view of the router. */
function viewsOf(first: string, second: string): { readonly name: keyof typeof signs; readonly to: Place }[] {
  return [
    ...mainViews.map((name) => ({ name, to: { view: name } })),
    ...tabs.map((name) => ({ name, to: sessionPlace(first, name) })),
    { name: 'compare', to: { view: 'compare', left: first, right: second } },
  ]
}

async function show(page: Page, { colorScheme, size }: Look): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await page.setViewportSize(size)
}

/** Checks what is shown. With `INSPECTOR_VIEWS`, saves a picture in that directory: to look at. */
async function check(page: Page, sign: string, view: string, look: Look): Promise<void> {
  const name = `${view}-${look.name}`
  await page.locator(sign).first().waitFor()
  const target = process.env['INSPECTOR_VIEWS']
  if (target !== undefined) await page.screenshot({ path: join(target, `${name}.png`) })
  await expectNoViolations(page, name, look.rules)
  const isWithin = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)
  expect([name, isWithin]).toEqual([name, true])
}

/** Checks the views of one server, in each look. */
async function checkPlaces(page: Page, server: Started, places: readonly Shown[]): Promise<void> {
  const own = places.filter(({ on }) => on === server)
  expect(own).not.toEqual([])
  for (const look of looks) {
    await show(page, look)
    for (const { name, hash, sign } of own) {
      await page.evaluate((to) => location.assign(to), hash)
      await check(page, sign, name, look)
    }
  }
}

type Shown = { readonly on: Started; readonly name: string; readonly hash: string; readonly sign: string }

/** A server with sessions that have changes and a subagent, and with schedules. */
async function startHarbour() {
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
  onTestFinished(() => served.stop())
  await served.runNow('morning')
  const started = await startServer({
    inspector: true,
    ...{ store, workspaces: [workspace], agentDirs: [served] },
    session: { model: harbourModel(), permissionPolicy: { allow: ['write', 'task'] } },
  })
  writeFileSync(join(workspace, 'notes.txt'), 'Fog.\n')
  const first = await begin(started, 'Write a note and look around.', 'Write a note')
  const second = await begin(started, 'Look.', 'Look')
  return { started, first, second }
}

function harbourModel() {
  let round = 0
  return scriptedModel(({ chatHistory }) => {
    const asked = JSON.stringify(chatHistory.find(({ role }) => role === 'user')?.content ?? '')
    if (!asked.includes('Write a note')) return 'Nothing to do.'
    round += 1
    if (round > 1) return 'It is **written**.'
    return {
      text: 'I begin with `notes.txt`.',
      toolCalls: [
        { name: 'write', args: { file_path: 'notes.txt', content: 'Fog.\nLand in sight!\n' } },
        { name: 'task', args: { agent: 'explore', description: 'Look around', prompt: 'Look around.' } },
      ],
    }
  })
}

/** A server with a session that has MCP servers, lanes and a dead letter. */
async function startLanes() {
  const world = fileURLToPath(new URL('../mcp/world-server.mjs', import.meta.url))
  const deploy = createJsonTool({
    name: 'deploy',
    description: 'Deploys.',
    parameters: { type: 'object', properties: {} },
    execute: (_, context) =>
      new Promise((resolve) => context?.signal?.addEventListener('abort', () => resolve('late'))),
  })
  const started = await startServer({
    inspector: true,
    hostTools: ['deploy'],
    session: {
      model: scriptedModel([{ toolCalls: [{ name: 'deploy', args: {} }] }, 'Too late.']),
      tools: [deploy],
      permissionPolicy: { allow: ['deploy'] },
      queueConfig: { enableDlq: true, enableMetrics: true, timeoutMs: 1_000 },
      mcpServers: [
        { name: 'world', command: process.execPath, args: [world] },
        { name: 'broken', command: process.execPath, args: ['-e', 'process.exit(3)'] },
        { name: 'unused', command: process.execPath, enabled: false },
      ],
    },
  })
  return { started, sessionId: await begin(started, 'Deploy it.', 'Deployment') }
}

/** A server whose session waits for an approval and for answers. */
async function startAsking() {
  const questions = [
    { question: 'Which quay?', options: [{ label: 'north', description: 'deep' }, { label: 'south' }] },
    { question: 'Which ships?', options: [{ label: 'all' }, { label: 'new' }], multi_select: true },
  ]
  const toolCalls = [
    { name: 'question', args: { questions } },
    { name: 'write', args: { file_path: 'quay.txt', content: 'north\n' } },
  ]
  const started = await startServer({
    inspector: true,
    session: { model: scriptedModel([{ toolCalls }, 'Done.']), permissionPolicy: { ask: ['write'] } },
  })
  return { started, sessionId: await begin(started, 'Ask me.', 'Answers') }
}

/** A server with a queue that has a worker, a run that waits and a dead one. */
async function startQueue() {
  const store = new MemorySessionStore()
  const queue = new InProcessRunQueue({ store })
  onTestFinished(() => queue.close())
  const started = await startServer({ inspector: true, store, queue })
  await begin(started, 'Weigh the anchor.', 'Anchor')
  const lanes = ['default']
  const member = await queue.join({ name: 'quay-1', host: 'quay', pid: 1, version: '1.0.0', slots: 4, lanes })
  onTestFinished(() => member.leave())
  const [claim] = await member.claim({ lanes, max: 1 })
  if (claim === undefined) throw new Error('The run is not in the queue.')
  const error = { code: 'too_many_takeovers', message: 'Its workers ended five times without progress.' }
  await member.settle(claim, { state: 'dead', error })
  await begin(started, 'Scrub the deck.', 'Deck')
  return started
}
