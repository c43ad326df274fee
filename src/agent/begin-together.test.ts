import fs, { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../test/support/temporary-directory.js'
import type { Session } from '../session/session.js'
import { scriptedModel } from '../testing/index.js'
import { Agent } from './agent.js'

let base: string
let agent: Agent
beforeEach(async () => {
  base = temporaryDirectory()
  agent = await Agent.create({}, { userDir: join(base, 'user') })
})
afterEach(async () => {
  await agent.close()
})

function makeProject(name: string, instructions: string): string {
  const root = join(base, name)
  mkdirSync(join(root, '.capstan', 'agents'), { recursive: true })
  mkdirSync(join(root, '.capstan', 'skills'))
  writeFileSync(join(root, 'a.txt'), 'hello\n')
  writeFileSync(join(root, 'AGENTS.md'), instructions)
  writeAgent(root, `helps in ${name}`)
  writeSkill(root, `skill of ${name}`)
  return root
}

function writeAgent(root: string, description: string): void {
  const text = `---\nname: helper\ndescription: ${description}\n---\nHelp.\n`
  writeFileSync(join(root, '.capstan', 'agents', 'helper.md'), text)
}

function writeSkill(root: string, description: string): void {
  const text = `---\nname: knack\ndescription: ${description}\n---\nDo it.\n`
  writeFileSync(join(root, '.capstan', 'skills', 'knack.md'), text)
}

function deny(root: string): void {
  writeFileSync(join(root, '.capstan', 'rules'), 'deny read(**/a.txt)\n')
}

/** Starts at once; returns the prompt that the model got and whether it could read the file. */
function begin(root: string): Promise<{ readonly prompt: string; readonly denied: boolean }> {
  const model = scriptedModel([{ toolCalls: [{ name: 'read', args: { file_path: 'a.txt' } }] }, 'done'])
  return look(agent.session(root, { model }), model)
}

async function look(session: Session, model: ReturnType<typeof scriptedModel>) {
  let denied: boolean | undefined
  for await (const event of await session.stream('Read it.'))
    if (event.type === 'tool_end') denied = event.isError
  await session.close()
  if (denied === undefined) throw new Error('nothing was read')
  return { prompt: model.requests[0]?.instructions ?? '', denied }
}

describe('sessions that start at the same time', () => {
  it('read what they share once', async () => {
    const root = makeProject('one', 'be brief')
    deny(root)
    await begin(root)
    const wanted = [join(root, '.capstan', 'rules'), join(root, 'AGENTS.md')]
    const alone = await looksAt(wanted, () => begin(root))
    expect(alone.every((count) => count > 0)).toBe(true)
    const together = await looksAt(wanted, () => Promise.all(Array.from({ length: 40 }, () => begin(root))))
    expect(together).toEqual(alone)
  })

  it('see a rule that is written before they start, whichever session started just before', async () => {
    const root = makeProject('one', 'be brief')
    const early = begin(root)
    deny(root)
    const late = begin(root)
    expect((await late).denied).toBe(true)
    await early
    // Also while others are on their way.
    const held = begin(root)
    await new Promise((resolve) => setImmediate(resolve))
    rmSync(join(root, '.capstan', 'rules'))
    expect((await begin(root)).denied).toBe(false)
    await held
    deny(root)
    expect((await begin(root)).denied).toBe(true)
  })

  it('see instructions, skills and agents as they are when they start', async () => {
    const root = makeProject('one', 'be brief')
    const first = await begin(root)
    expect(first.prompt).toContain('be brief')
    expect(first.prompt).toContain('helps in one')
    expect(first.prompt).toContain('skill of one')
    const early = begin(root)
    writeFileSync(join(root, 'AGENTS.md'), 'be exact')
    writeAgent(root, 'helps otherwise')
    writeSkill(root, 'skill of another kind')
    const { prompt } = await begin(root)
    expect(prompt).toContain('be exact')
    expect(prompt).not.toContain('be brief')
    expect(prompt).toContain('helps otherwise')
    expect(prompt).toContain('skill of another kind')
    await early
  })

  it('see nothing of another workspace, or of another user', async () => {
    const one = makeProject('east', 'words of east')
    const two = makeProject('west', 'words of west')
    deny(two)
    mkdirSync(join(base, 'other'))
    writeFileSync(join(base, 'other', 'AGENTS.md'), 'words of the other user')
    const other = await Agent.create({}, { userDir: join(base, 'other') })
    try {
      const model = scriptedModel([{ toolCalls: [{ name: 'read', args: { file_path: 'a.txt' } }] }, 'done'])
      const [a, b, c] = await Promise.all([
        begin(one),
        begin(two),
        look(other.session(one, { model }), model),
      ])
      expect([a.denied, b.denied, c.denied]).toEqual([false, true, false])
      expect(a.prompt).toContain('words of east')
      expect(a.prompt).not.toMatch(/west|other user/)
      expect(b.prompt).toContain('words of west')
      expect(b.prompt).not.toMatch(/east|other user/)
      expect(c.prompt).toContain('words of the other user')
    } finally {
      await other.close()
    }
  })
})

/** How often each of these paths was looked at meanwhile. */
async function looksAt(paths: readonly string[], work: () => Promise<unknown>): Promise<number[]> {
  const { lstatSync } = fs
  const counts = new Map(paths.map((path) => [path, 0]))
  const counting = (path: string, ...rest: []) => {
    const count = counts.get(path)
    if (count !== undefined) counts.set(path, count + 1)
    return lstatSync(path, ...rest)
  }
  Object.assign(fs, { lstatSync: counting })
  syncBuiltinESMExports()
  try {
    await work()
    return paths.map((path) => counts.get(path) ?? 0)
  } finally {
    Object.assign(fs, { lstatSync })
    syncBuiltinESMExports()
  }
}
