import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.js'
import { startServer } from '../server/support.js'
import { chromium } from './browser.js'
import { begin, visit } from './visit.js'

const timeout = 600_000

describe.skipIf(chromium === undefined)('the inspector without a mouse', { timeout }, () => {
  it('lists, approves, answers, explains, replays, undoes and shares by keyboard, and never loses the focus', async () => {
    const edit = { file_path: 'config.json', old_string: '80', new_string: '8080' }
    const options = [{ label: 'staging' }, { label: 'production' }]
    const started = await startServer({
      inspector: true,
      session: {
        model: scriptedModel([
          { toolCalls: [{ name: 'edit', args: edit, id: 'call-edit' }] },
          {
            toolCalls: [
              { name: 'question', args: { questions: [{ question: 'Where?', options }] }, id: 'call-ask' },
            ],
          },
          'Done.',
          'Again.',
        ]),
        permissionPolicy: { ask: ['edit'] },
      },
    })
    writeFileSync(join(started.workspace, 'config.json'), '{ "port": 80 }\n')
    const sessionId = await begin(started, 'Change the port.', 'Port')
    const { page, problems } = await visit(started)
    const link = page.getByRole('link', { name: 'Port' })
    await link.waitFor()

    // The list: a key moves to the entry, and Enter opens it. The heading of the new view has the focus.
    await page.keyboard.press('j')
    await expectFocus(link)
    await page.keyboard.press('Enter')
    await expectFocus(page.getByRole('heading', { level: 1 }))

    // An approval and a question. What is next to a card that disappears gets the focus.
    const approve = page.getByRole('button', { name: 'Approve once' })
    await approve.waitFor()
    await tabTo(page, approve)
    await page.keyboard.press('Enter')
    const staging = page.getByRole('radio', { name: 'staging' })
    await staging.waitFor()
    await expectSomeFocus(page)
    await tabTo(page, staging)
    await page.keyboard.press('Space')
    await tabTo(page, page.getByRole('button', { name: 'Answer' }))
    await page.keyboard.press('Enter')
    await page.locator('.end').waitFor()
    await expect.poll(() => page.locator('.card.waits').count()).toBe(0)
    await expectSomeFocus(page)

    // The timeline: open a call, ask why, judge it with another rule, close it again.
    const call = page.locator('.call', { hasText: 'config.json' })
    const head = call.locator('.head')
    for (let times = 0; times < 20 && !(await hasFocus(head)); times++) await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    const why = call.getByRole('button', { name: 'Why?' })
    await tabTo(page, why)
    await page.keyboard.press('Enter')
    await call.locator('.tree').first().waitFor()
    await tabTo(page, call.getByLabel('Rule', { exact: true }))
    await page.keyboard.press('Control+A')
    await page.keyboard.type('edit(config.json)')
    await page.keyboard.press('Enter')
    await call.locator('.tree').nth(1).locator('b.allow').first().waitFor()

    // The replay: arrows move the slider event by event.
    const slider = page.getByLabel('Replay')
    await tabTo(page, slider)
    await page.keyboard.press('Home')
    await page.getByText(/^1 of \d+ events/).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.getByText(/^2 of \d+ events/).waitFor()
    await page.keyboard.press('End')
    await page.locator('.end').waitFor({ state: 'attached' })

    // The panel of links: it opens and closes with its button, which keeps the focus.
    const share = page.getByRole('button', { name: 'Share' })
    await tabTo(page, share, 'Shift+Tab')
    await page.keyboard.press('Enter')
    await tabTo(page, page.getByRole('button', { name: 'Create a link' }))
    await page.keyboard.press('Enter')
    const revoke = page.getByRole('button', { name: 'Revoke' })
    await revoke.waitFor()
    await tabTo(page, revoke)
    await page.keyboard.press('Enter')
    await revoke.waitFor({ state: 'detached' })
    await expectSomeFocus(page)
    await tabTo(page, share, 'Shift+Tab')
    await page.keyboard.press('Enter')
    await expectFocus(share)

    // File changes: the button that confirms takes the place of the one that asks.
    await page.keyboard.press('3')
    const undo = page.getByRole('button', { name: 'Undo these changes…' })
    await undo.waitFor()
    await tabTo(page, undo)
    await page.keyboard.press('Enter')
    await expectFocus(page.getByRole('button', { name: 'Restore 1 file now' }))
    await page.keyboard.press('Enter')
    await page.getByText('Restored 1 file.').waitFor()
    await expectSomeFocus(page)

    // Two sessions are chosen in the list and compared.
    await begin(started, 'Once more.', 'Other')
    await tabTo(page, page.getByRole('link', { name: 'Timeline' }), 'Shift+Tab')
    await page.keyboard.press('u')
    await page.getByRole('link', { name: 'Other' }).waitFor()
    for (const box of await page.getByRole('checkbox').all()) {
      await tabTo(page, box)
      await page.keyboard.press('Space')
    }
    await tabTo(page, page.getByRole('link', { name: 'Compare', exact: true }), 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.locator('.pair.differs').first().waitFor()
    expect(page.url()).toContain(sessionId)
    expect(problems).toEqual([])
  })

  it('moves nothing for users who prefer reduced motion', async () => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const started = await startServer({
      inspector: true,
      session: {
        model: scriptedModel(async () => {
          await released
          return { toolCalls: [{ name: 'write', args: { file_path: 'a', content: 'a' } }] }
        }),
        permissionPolicy: { ask: ['write'] },
      },
    })
    const sessionId = await begin(started, 'Wait.', 'Wait')
    const { page } = await visit(started, `#/sessions/${sessionId}/timeline`)
    await page.locator('.badge.running').waitFor()
    const animations = (): Promise<number> => page.evaluate(() => document.getAnimations().length)
    expect(await animations()).toBe(0)
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    await expect.poll(animations).toBeGreaterThan(0)
    release()
    await page.locator('.badge.waiting').waitFor()
    // The list says which sessions wait for a user.
    await page.keyboard.press('u')
    await page.locator('tr.waits .badge', { hasText: 'waiting' }).waitFor()
  })
})

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, element: Locator, key = 'Tab'): Promise<void> {
  for (let times = 0; times < 80; times++) {
    if (await hasFocus(element)) return
    await page.keyboard.press(key)
  }
  throw new Error(`The focus never reached ${String(element)}.`)
}

async function hasFocus(element: Locator): Promise<boolean> {
  return element.evaluate((one) => one === document.activeElement)
}

async function expectFocus(element: Locator): Promise<void> {
  await expect.poll(() => hasFocus(element)).toBe(true)
}

/** The focus is in the view, not at the beginning of the page. */
async function expectSomeFocus(page: Page): Promise<void> {
  await expect.poll(() => page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true)
}
