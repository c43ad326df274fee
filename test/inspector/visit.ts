import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { headers, type Started } from '../server/support.js'
import { openPage, type PageOptions } from './browser.js'

/** Opens the inspector with the token of the tests and a new code, and the view that `hash` names. */
export async function visit(
  started: { readonly url: string },
  hash = '',
  options: PageOptions = {},
): Promise<{ readonly page: Page; readonly problems: string[] }> {
  const opened = await openPage(options)
  await signIn(opened.page, started, hash)
  return opened
}

/** Opens the inspector of a server in a page, also in one that shows that of another server. */
export async function signIn(page: Page, { url }: { readonly url: string }, hash = ''): Promise<void> {
  const response = await fetch(`${url}/v1/inspector/codes`, { method: 'POST', headers })
  const { path } = (await response.json()) as { readonly path: string }
  await page.goto(`${url}${path}`)
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  expect(page.url()).not.toContain('code=')
  if (hash !== '') await page.evaluate((to) => location.assign(to), hash)
}

/** Saves a picture when `INSPECTOR_PICTURES` names a directory. */
export async function picture(page: Page, name: string): Promise<void> {
  const target = process.env['INSPECTOR_PICTURES']
  if (target === undefined) return
  mkdirSync(target, { recursive: true })
  // The name of a temporary directory says nothing to readers.
  await page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode())
      node.nodeValue = (node.nodeValue ?? '').replace(/\/\S*capstan-test-\w+/g, '/home/ann/harbour')
  })
  await page.screenshot({ path: join(target, `inspector-${name}.png`) })
}

/** Opens a session, and starts a run in it. */
export async function begin(started: Started, prompt: string, title: string): Promise<string> {
  const { sessionId } = (await started.call('POST', '/v1/sessions', { title })).body
  await started.call('POST', `/v1/sessions/${sessionId}/runs`, { prompt })
  return sessionId
}
