import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.js'
import { startServer } from '../server/support.js'
import { chromium, expectNoViolations, openPage } from './browser.js'
import { begin, visit } from './visit.js'

const timeout = 600_000
const wide = { width: 1280, height: 800 }
const narrow = { width: 390, height: 800 }

describe.skipIf(chromium === undefined)('every view of the inspector', { timeout }, () => {
  it('has no violation of axe-core, light and dark, on wide and narrow screens', async () => {
    const answers = [
      { toolCalls: [{ name: 'write', args: { file_path: 'notes.txt', content: 'Land in sight!' } }] },
      'It is **written**.',
      'Nothing to do.',
    ]
    const permissionPolicy = { allow: ['write'] }
    const started = await startServer({
      inspector: true,
      session: { model: scriptedModel(answers), permissionPolicy },
    })
    writeFileSync(join(started.workspace, 'config.json'), '{}\n')
    const first = await begin(started, 'Write a note.', 'Write a note')
    const { page } = await visit(started, `#/sessions/${first}/timeline`)
    await page.locator('.end').waitFor()
    const second = await begin(started, 'Look.', 'Look')
    const views = [
      { hash: '#/', shows: page.getByRole('heading', { name: 'Sessions' }) },
      { hash: '#/schedules', shows: page.locator('main h1') },
      { hash: '#/queues', shows: page.locator('main h1') },
      { hash: `#/sessions/${first}/timeline`, shows: page.locator('.call') },
      { hash: `#/sessions/${first}/usage`, shows: page.locator('svg.chart').first() },
      { hash: `#/sessions/${first}/changes`, shows: page.locator('.change .added').first() },
      { hash: `#/sessions/${first}/tools`, shows: page.locator('.tools summary').first() },
      { hash: `#/compare/${first}/${second}`, shows: page.locator('.pair.differs').first() },
      { hash: '#/sessions/none/timeline', shows: page.locator('.failure') },
    ]
    const looks = [
      { name: 'light', colorScheme: 'light', size: wide },
      { name: 'dark', colorScheme: 'dark', size: wide },
      { name: 'dark and narrow', colorScheme: 'dark', size: narrow },
    ] as const
    for (const { name, colorScheme, size } of looks) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize(size)
      for (const { hash, shows } of views) {
        await page.evaluate((to) => location.assign(to), hash)
        await shows.waitFor()
        await expectNoViolations(page, `${hash}, ${name}`)
        const isWithin = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)
        expect([hash, name, isWithin]).toEqual([hash, name, true])
      }
      await page.evaluate((to) => location.assign(to), `#/sessions/${first}/timeline`)
      await page.getByRole('button', { name: 'Share' }).click()
      const panel = page.getByRole('region', { name: 'Links for reading' })
      await panel.getByRole('button', { name: 'Create a link' }).click()
      await panel.getByLabel('The link').waitFor()
      await expectNoViolations(page, `the panel of links, ${name}`)
      await panel.getByRole('button', { name: 'Revoke' }).first().click()
    }
  })

  it('has none on the page for signing in either, which accepts no wrong token', async () => {
    const started = await startServer({ inspector: true })
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await openPage({ colorScheme, viewport: narrow })
      await page.goto(`${started.url}/inspect/`)
      await page.getByLabel('Or use the token of the server').fill('not-the-token-of-it')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('The server does not accept this token.').waitFor()
      await expectNoViolations(page, `signing in, ${colorScheme}`)
    }
  })
})
