import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium as engine, type Page } from 'playwright-core'
import { afterAll, expect } from 'vitest'

/** The path of Chromium on this machine; undefined when there is none. */
export const chromium = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((path) => existsSync(path))
if (chromium === undefined)
  console.warn('Chromium is not installed here: the tests of the inspector in a browser are SKIPPED.')

let browser: Promise<Browser> | undefined
afterAll(async () => {
  await (await browser)?.close()
  browser = undefined
})

export type PageOptions = {
  readonly colorScheme?: 'light' | 'dark'
  readonly viewport?: { readonly width: number; readonly height: number }
}

/** A page of its own, with the problems that the browser reported. One Chromium serves all tests of a file. */
export async function openPage({
  colorScheme = 'light',
  viewport = { width: 1280, height: 800 },
}: PageOptions = {}): Promise<{
  readonly page: Page
  readonly problems: string[]
}> {
  browser ??= engine.launch({
    executablePath: chromium ?? '',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
  const context = await (await browser).newContext({ colorScheme, viewport, reducedMotion: 'reduce' })
  const page = await context.newPage()
  page.setDefaultTimeout(90_000)
  const problems: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(error.message))
  return { page, problems }
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
    const { violations } = await checker.run(names === undefined ? {} : { runOnly: names })
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary ?? ''}`,
    )
  }, rules)
  expect({ where, found }).toEqual({ where, found: [] })
}
