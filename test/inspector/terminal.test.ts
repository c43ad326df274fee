import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openPlace } from '../cli/drive.js'
import { hasScript, open } from '../cli/interactive/real-terminal.js'
import { keys } from '../cli/interactive/virtual-terminal.js'
import { chromium, openPage } from './browser.js'

const timeout = 600_000

describe.skipIf(chromium === undefined || !hasScript)(
  'a session of a terminal in Chromium',
  { timeout },
  () => {
    it('is answered in the browser or in the terminal, and the other one sees it answered', async () => {
      const place = await openPlace({ 'a.txt': 'nine knots\n' })
      const file = (): string => readFileSync(join(place.root, 'a.txt'), 'utf8')
      const terminal = open(place, ['--model', 'offline'], 160)
      await terminal.sees('offline/rules')
      terminal.press(`/inspect${keys.enter}`)
      await terminal.sees('#code=')
      const [link = ''] = /http:\/\/\S+#code=[\w-]+/.exec(terminal.screen()) ?? []
      const { page, problems } = await openPage()
      await page.goto(link)

      // Asked in both places, answered in the browser.
      terminal.press(`Replace "nine" by "ten" in a.txt${keys.enter}`)
      await terminal.sees('no, with a')
      await page.getByRole('link', { name: 'Replace' }).click()
      const card = page.getByRole('region', { name: 'Approval of edit' })
      await card.locator('.added', { hasText: 'ten knots' }).waitFor()
      await card.getByRole('button', { name: 'Approve once' }).click()
      await terminal.sees('3 rounds')
      expect(file()).toBe('ten knots\n')
      expect(terminal.screen()).not.toContain('no, with a')
      await page.locator('.end.completed').waitFor()
      await expect.poll(() => page.locator('.card.waits').count()).toBe(0)

      // Asked in both places, answered in the terminal.
      terminal.press(`Replace "ten" by "twelve" in a.txt${keys.enter}`)
      await terminal.sees('no, with a')
      await card.locator('.added', { hasText: 'twelve knots' }).waitFor()
      terminal.press('y')
      await page.locator('.end.completed').nth(1).waitFor()
      await expect.poll(() => page.locator('.card.waits').count()).toBe(0)
      expect(file()).toBe('twelve knots\n')
      expect(problems).toEqual([])
      terminal.press(keys.ctrlD)
      await terminal.sees('left: 0')
      await terminal.ended
    })

    it('has its questions answered in the browser or in the terminal, and the other one sees the answer', async () => {
      const place = await openPlace()
      const ask = (question: string) => ({
        toolCalls: [
          {
            name: 'question',
            args: { questions: [{ question, options: [{ label: 'north' }, { label: 'south' }] }] },
          },
        ],
      })
      const { server, flags } = await place.model([ask('Which quay?'), ask('Which pier?'), 'Moored.'])
      const terminal = open(place, flags, 160)
      await terminal.sees('test/m')
      terminal.press(`/inspect${keys.enter}`)
      await terminal.sees('#code=')
      const [link = ''] = /http:\/\/\S+#code=[\w-]+/.exec(terminal.screen()) ?? []
      const { page, problems } = await openPage()
      await page.goto(link)
      await page.getByRole('heading', { name: 'Sessions' }).waitFor()

      // Asked in both places, answered in the browser.
      terminal.press(`Moor the ship${keys.enter}`)
      await terminal.sees('something else')
      await page.getByRole('link', { name: 'Moor the ship' }).click()
      const card = page.getByRole('region', { name: 'Question of the model' })
      await card.getByText('Which quay?').waitFor()
      await card.getByLabel('south').check()
      await card.getByRole('button', { name: 'Answer' }).click()
      await terminal.sees('south (in another client)')

      // Asked in both places, answered in the terminal.
      await card.getByText('Which pier?').waitFor()
      await terminal.sees(/Which pier\?[\s\S]*something else/)
      terminal.press('1')
      await page.locator('.end.completed').waitFor()
      await expect.poll(() => page.locator('.card.waits').count()).toBe(0)
      await terminal.sees('Moored.')
      expect(JSON.stringify(server.requests.at(-1)?.body)).toMatch(/south.*north/)
      expect(problems).toEqual([])
      terminal.press(keys.ctrlD)
      await terminal.sees('left: 0')
      await terminal.ended
    })
  },
)
