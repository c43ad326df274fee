import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { byPrompt, call, open } from '../../contract/subagents.js'
import { WRITES } from '../shell/attack-forms.js'

const writers = [
  ...WRITES,
  'tee made < package.json',
  'cp package.json made',
  'mv package.json made',
  'rm package.json',
  'touch made',
  'mkdir made',
  'ln -s package.json made',
  'truncate -s 0 package.json',
  'install package.json made',
  'sed -i s/x/y/ package.json',
  'sort -o made package.json',
  'dd if=package.json of=made',
  'find . -fprint made',
  'git show > made',
]

/** Fewer than the steps that any of the agents has. */
const inOneTask = 15

describe('read-only agents', () => {
  it.each(['explore', 'plan', 'verification', 'review'])(
    'the agent %s cannot write by a redirection or a command, although its caller is allowed everything',
    async (agent) => {
      const answers: string[] = []
      const model = byPrompt(({ prompt, turn, results }) => {
        const from = Number(/from (\d+)/.exec(prompt)?.[1] ?? 0)
        const command = turn < inOneTask ? writers[from + turn] : undefined
        if (command !== undefined) return call('bash', { command, timeout: 110_000 })
        answers.push(...results)
        return 'done'
      })
      const { session, root } = await open(
        { model, permissionPolicy: { allow: ['*'] } },
        { 'package.json': '{}\n', 'd/a.txt': 'a\n' },
      )
      for (let from = 0; from < writers.length; from += inOneTask)
        await session.task({ agent, prompt: `the forms from ${from}` })
      // Every one was answered, and none of them ran: neither an exit code nor output.
      expect(answers).toHaveLength(writers.length)
      for (const answer of answers) expect(answer).toMatch(/^Error: /)
      expect((await readdir(root)).sort()).toEqual(['d', 'package.json'])
      expect(await readdir(join(root, 'd'))).toEqual(['a.txt'])
      expect(await readFile(join(root, 'package.json'), 'utf8')).toBe('{}\n')
    },
    240_000,
  )
})
