import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.js'
import { startServer } from '../server/support.js'
import { chromium, expectNoViolations } from './browser.js'
import { begin, picture, visit } from './visit.js'

const timeout = 600_000
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe.skipIf(chromium === undefined)('the details of calls in the inspector', { timeout }, () => {
  it('opens truncated output from its file, colors code, shows stored images and the context window, by keyboard too', async () => {
    const started = await startServer({
      inspector: true,
      session: { model: dockModel(), permissionPolicy: { allow: ['bash', 'edit', 'read', 'task'] } },
    })
    writeFileSync(join(started.workspace, 'dock.ts'), "const name = 'quay' // the first\nexport { name }\n")
    const sessionId = await begin(started, 'Begin.', 'Dock')
    const { page, problems } = await visit(started, `#/sessions/${sessionId}/timeline`)
    await page.locator('.end').first().waitFor()
    const attachments = [{ data: pixel, mediaType: 'image/png' }]
    const runs = `/v1/sessions/${sessionId}/runs`
    const { runId } = (await started.call('POST', runs, { prompt: 'Look.', attachments })).body
    await page.locator('.end').nth(1).waitFor()
    expect(await page.locator('.images img').evaluate((image) => image.getAttribute('src'))).toMatch(/^blob:/)

    // Keys move between entries and open them.
    await page.locator('h1').click()
    const edit = page.locator('.call', { has: page.locator('.tool', { hasText: 'edit' }) })
    for (let times = 0; times < 20 && !(await edit.locator('.head:focus').isVisible()); times++)
      await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await edit.locator('td.added .code-string', { hasText: "'pier'" }).waitFor()
    await edit.locator('td.added .code-comment', { hasText: '// the first' }).waitFor()
    await edit.getByRole('button', { name: 'Copy as a rule' }).waitFor()
    await expectNoViolations(page, 'a colored diff')
    await picture(page, 'highlight')
    await page.emulateMedia({ colorScheme: 'dark' })
    await edit.getByRole('button', { name: 'Side by side' }).click()
    await expectNoViolations(page, 'a colored diff in the dark')
    await picture(page, 'highlight-dark')
    await edit.locator('.head').click()

    const loud = page.locator('.call', { has: page.locator('.about', { hasText: 'seq 1 60000' }) })
    await loud.locator('.head').click()
    await loud.locator('.step', { hasText: 'Sandbox' }).waitFor()
    await loud.getByRole('button', { name: 'Open the whole output' }).click()
    await loud.getByText(/Whole output \(348,\d\d\d characters\)/).waitFor()
    await expectNoViolations(page, 'a whole output')
    await picture(page, 'output-dark')

    await page.keyboard.press('2')
    await page.getByRole('region', { name: 'Context window' }).locator('svg').waitFor()
    await page.getByRole('img', { name: /Models took \d+ % of the time/ }).waitFor()
    await page.locator('svg title', { hasText: 'explore: Round 1' }).first().waitFor({ state: 'attached' })
    await expectNoViolations(page, 'usage in the dark')
    await picture(page, 'usage-dark')
    await page.emulateMedia({ colorScheme: 'light' })
    await expectNoViolations(page, 'usage')
    await picture(page, 'usage-context')
    await page.keyboard.press('u')
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.keyboard.press('/')
    await expect.poll(() => page.locator('input[type="search"]:focus').count()).toBe(1)
    expect(problems).toEqual([])

    // Only the file that the log names for a call of this run is read.
    const other = await started.call('GET', `${runs}/${runId}/calls/call-loud/output`)
    expect([other.status, other.body.code]).toEqual([404, 'output_not_found'])
  })
})

/** A model that reads, edits and starts a subagent for the prompt "Begin." */
function dockModel() {
  let round = 0
  return scriptedModel(({ chatHistory }) => {
    const asked = JSON.stringify(chatHistory.find(({ role }) => role === 'user')?.content ?? '')
    if (!asked.includes('Begin.')) return 'Explored.'
    round += 1
    if (round === 1)
      return {
        toolCalls: [
          { name: 'read', args: { file_path: 'dock.ts' }, id: 'call-read' },
          { name: 'bash', args: { command: 'seq 1 60000' }, id: 'call-loud' },
        ],
      }
    if (round === 2)
      return {
        toolCalls: [
          {
            name: 'edit',
            args: {
              file_path: 'dock.ts',
              old_string: "const name = 'quay' // the first",
              new_string: "const name = 'pier' // the first",
            },
            id: 'call-edit',
          },
          {
            name: 'task',
            args: { agent: 'explore', description: 'Look around', prompt: 'Look around.' },
            id: 'call-task',
          },
        ],
      }
    return 'Done:\n\n```ts\nconst answer = 42\n```'
  })
}
