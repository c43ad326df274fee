import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.js'
import { startServer } from '../server/support.js'
import { chromium, expectNoViolations } from './browser.js'
import { begin, picture, visit } from './visit.js'

const timeout = 600_000

describe.skipIf(chromium === undefined)('forks and undo in the inspector', { timeout }, () => {
  it('shows what forks have in common, and where they start to differ', async () => {
    const started = await startServer({
      inspector: true,
      session: {
        model: scriptedModel(({ chatHistory }) => {
          const last = chatHistory.at(-1)
          const said = JSON.stringify(last?.content)
          if (last?.role === 'tool') return 'There are two masts.'
          if (said.includes('Count')) return { toolCalls: [{ name: 'glob', args: { pattern: '*.txt' } }] }
          return said.includes('north') ? 'Heading north.' : 'Heading south.'
        }),
      },
    })
    const parent = await begin(started, 'Count the masts.', 'Masts')
    const { page, problems } = await visit(started, `#/sessions/${parent}/timeline`)
    await page.locator('.end').waitFor()
    const fork = async (title: string, prompt: string): Promise<string> => {
      const { sessionId } = (await started.call('POST', `/v1/sessions/${parent}/fork`, { title })).body
      await started.call('POST', `/v1/sessions/${sessionId}/runs`, { prompt })
      return sessionId
    }
    const north = await fork('North', 'Sail north.')
    const south = await fork('South', 'Sail south.')

    // A fork shows the conversation that it copied, with its calls.
    await page.evaluate((to) => location.assign(to), `#/sessions/${north}/timeline`)
    await page.getByText('Copied from the session that this one was forked from').waitFor()
    await page.locator('.answer', { hasText: 'There are two masts.' }).waitFor()
    await page.locator('.call', { hasText: '*.txt' }).locator('.badge', { hasText: 'copied' }).waitFor()
    await page.locator('.end').waitFor()
    await expectNoViolations(page, 'a fork')

    await page.evaluate((to) => location.assign(to), `#/compare/${north}/${south}`)
    await page.getByText('2 of 5 entries differ, after 3 entries that are the same.').waitFor()
    expect(await page.locator('.pair.differs').allTextContents()).toEqual([
      expect.stringMatching(/Sail north\..*Sail south\./),
      expect.stringMatching(/Heading north\..*Heading south\./),
    ])
    await page.getByRole('button', { name: 'Go to the first difference' }).click()
    await expectNoViolations(page, 'two forks')
    await picture(page, 'forks')
    // The parent has nothing after what they have in common.
    await page.evaluate((to) => location.assign(to), `#/compare/${parent}/${south}`)
    await page.getByText('2 of 5 entries differ, after 3 entries that are the same.').waitFor()
    expect(await page.locator('.pair.differs .absent').count()).toBe(2)
    expect(problems).toEqual([])
  })

  it('undoes the changes of a run and of its subagents, and says why a file stays', async () => {
    const started = await startServer({
      inspector: true,
      session: {
        model: scriptedModel(({ chatHistory }) => {
          const first = JSON.stringify(chatHistory.find(({ role }) => role === 'user')?.content)
          const isChild = first.includes('Paint')
          if (chatHistory.at(-1)?.role === 'tool') return 'Done.'
          if (isChild)
            return { toolCalls: [{ name: 'write', args: { file_path: 'child.txt', content: 'blue' } }] }
          const task = { agent: 'general', description: 'Paint', prompt: 'Paint the hull.' }
          return {
            toolCalls: [
              { name: 'write', args: { file_path: 'parent.txt', content: 'red' } },
              { name: 'write', args: { file_path: 'later.txt', content: 'white' } },
              { name: 'task', args: task },
            ],
          }
        }),
        permissionPolicy: { allow: ['write', 'task'] },
      },
    })
    const file = (name: string): string => join(started.workspace, name)
    const sessionId = await begin(started, 'Begin.', 'Hull')
    const { page, problems } = await visit(started, `#/sessions/${sessionId}/timeline`)
    await page.locator('.end').waitFor()
    expect(readFileSync(file('child.txt'), 'utf8')).toBe('blue')
    writeFileSync(file('later.txt'), 'changed by the user')
    await page.getByRole('link', { name: 'File changes' }).click()
    for (const name of ['parent.txt', 'child.txt', 'later.txt'])
      await page.getByRole('region', { name }).waitFor()
    await expectNoViolations(page, 'changes of subagents')
    await picture(page, 'changes')
    await page.getByRole('button', { name: 'Undo these changes…' }).click()
    await page.getByRole('button', { name: 'Restore 3 files now' }).click()
    await page.getByText('Restored 2 files.').waitFor()
    await page.getByRole('list', { name: 'Not restored' }).getByText('later.txt').waitFor()
    await expectNoViolations(page, 'after an undo')
    expect([existsSync(file('parent.txt')), existsSync(file('child.txt'))]).toEqual([false, false])
    expect(readFileSync(file('later.txt'), 'utf8')).toBe('changed by the user')
    // The list of sessions has the subagent below its parent.
    await page.getByRole('link', { name: 'Sessions' }).click()
    await page.locator('.list .name.depth-1', { hasText: 'subagent general' }).waitFor()
    await page.getByText(/^2 sessions · [1-9][\d,.]*k? tokens · \$\d+\.\d\d$/).waitFor()
    await page.getByLabel('Agent').selectOption('general')
    await page.getByText(/^1 session · /).waitFor()
    expect(problems).toEqual([])
  })
})
