import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium as engine, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'

/**
 * The path of Chromium on this machine; undefined when there is none. The headless shell has the same engine without
 * the windows of a browser, which take more than half of the processor time: tabs, address bar, menus.
 */
export const chromium = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
].find((path) => existsSync(path))
if (chromium === undefined)
  console.warn('Chromium is not installed here: the tests in a browser are SKIPPED.')

export type PageOptions = {
  readonly colorScheme?: 'light' | 'dark'
  readonly viewport?: { readonly width: number; readonly height: number }
}

/**
 * Opens a page, and returns it with the problems that the browser reports. One Chromium serves all tests of a worker.
 * What the page shows and its cookies are gone after the test.
 */
export async function openPage({
  colorScheme = 'light',
  viewport = { width: 1280, height: 800 },
}: PageOptions = {}): Promise<{
  readonly page: Page
  readonly problems: string[]
}> {
  const page = await emptyPage()
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
  await page.setViewportSize(viewport)
  page.setDefaultTimeout(90_000)
  const problems: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(error.message))
  return { page, problems }
}

/**
 * The address bar of each window prepares two pages of suggestions in a process of their own. The last list of features
 * counts, so this one repeats those that Playwright switches off and that pages or requests could depend on.
 */
const disabledFeatures = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
]

/** No server has this port; the request is answered without it. */
const emptyAddress = 'http://127.0.0.1:1/'

let browser: Promise<Browser> | undefined
let shared: Promise<Page> | undefined
let isSharedInUse = false

/**
 * A page without cookies. The first page of every test is the same one, because starting the processes of another takes
 * as long as a short test does; further pages of a test are new, each in a context of its own.
 */
async function emptyPage(): Promise<Page> {
  browser ??= engine.launch({
    executablePath: chromium ?? '',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      `--disable-features=${disabledFeatures.join(',')}`,
    ],
  })
  if (isSharedInUse) {
    const context = await (await browser).newContext()
    onTestFinished(() => context.close())
    return context.newPage()
  }
  isSharedInUse = true
  shared ??= browser.then(async (started) => (await started.newContext()).newPage())
  const page = await shared
  onTestFinished(async () => {
    for (const event of ['console', 'pageerror', 'request', 'response']) page.removeAllListeners(event)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    // An empty page of the host of the tests: about:blank ends the process that shows the page.
    await page.route(emptyAddress, (route) => route.fulfill({ contentType: 'text/html', body: '' }))
    await page.goto(emptyAddress)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.context().clearCookies()
    await page.context().clearPermissions()
    isSharedInUse = false
  })
  return page
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Checks the page with axe-core, evaluated by the browser itself: the policy of the page forbids other scripts. Checks
 * all rules, or those that are named.
 */
export async function expectNoViolations(
  page: Page,
  where: string,
  rules?: readonly string[],
): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  const found = await page.evaluate(async (names) => {
    const { axe: checker } = globalThis as unknown as {
      axe: {
        run(
          options: object,
        ): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }>
      }
    }
    // Descriptions of the elements that are right take most of the time.
    const { violations } = await checker.run({
      resultTypes: ['violations'],
      ...(names !== undefined && { runOnly: names }),
    })
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary ?? ''}`,
    )
  }, rules)
  expect({ where, found }).toEqual({ where, found: [] })
}
