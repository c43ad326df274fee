import { createHash } from 'node:crypto'
import { readdir, readFile, readlink, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../../src/agent/agent.js'
import type { SessionOptions } from '../../../src/session/options.js'
import type { Session } from '../../../src/session/session.js'
import { makeRepository, makeWorkspace, whenDone } from '../../contract/open-session.js'
import { byPrompt } from '../../contract/subagents.js'
import { ORDINARY, READS, RUNS, WRITES } from './attack-forms.js'

const canary = 'c4n4ry-0f-the-env-file'

/**
 * A session on a workspace worth attacking. The model runs the commands that it is asked for, a list in JSON, and
 * repeats what it saw.
 */
async function openAttacked(options: SessionOptions): Promise<{ session: Session; root: string }> {
  const { root, userDir } = await makeWorkspace({
    'package.json': '{\n  "name": "x"\n}\n',
    '.env': `KEY=${canary}\n`,
    'd/a.txt': 'a\n',
    victim: 'alive\n',
    names: '.env\0',
    Makefile: 'all:\n\techo made it\n',
  })
  makeRepository(root)
  await symlink('.env', join(root, 'link'))
  const model = byPrompt(({ prompt, turn, results }) =>
    turn === 0
      ? {
          toolCalls: commandsOf(prompt).map((command) => ({
            name: 'bash',
            args: { command, timeout: 110_000 },
          })),
        }
      : JSON.stringify(results),
  )
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  return { session: agent.session(root, { sandbox: 'off', model, ...options }), root }
}

function commandsOf(prompt: string): string[] {
  return JSON.parse(prompt) as string[]
}

/** Runs commands in one round, and returns what the model read of each. */
async function runAll(session: Session, commands: readonly string[]): Promise<string[]> {
  const { text } = await session.send(JSON.stringify(commands))
  const results = JSON.parse(text) as string[]
  expect(results).toHaveLength(commands.length)
  return results
}

/** Everything below a directory, by name and content. */
async function snapshot(root: string): Promise<string> {
  const hash = createHash('sha256')
  for (const entry of (await readdir(root, { recursive: true, withFileTypes: true })).sort((a, b) =>
    `${a.parentPath}/${a.name}` < `${b.parentPath}/${b.name}` ? -1 : 1,
  )) {
    const path = join(entry.parentPath, entry.name)
    if (path.includes('/.git/')) continue
    hash.update(path)
    if (entry.isFile()) hash.update(await readFile(path))
    if (entry.isSymbolicLink()) hash.update(await readlink(path))
  }
  return hash.digest('hex')
}

type Tally = { tried: number; refused: number; asked: number; ran: string[]; broken: string[] }

type Attempt = {
  readonly root: string
  readonly results: readonly string[]
  readonly before: string
  /** One was started, or no more are to come: only then is it worth looking for traces. */
  readonly mayHaveRun: boolean
}

/** A round with one command costs as much as ten more in it. */
const perRound = 25

/** Tries every form; `broke` says whether one of them did what it should not have. */
async function attack(
  options: SessionOptions,
  forms: readonly string[],
  broke: (at: Attempt) => Promise<boolean>,
): Promise<Tally> {
  const asked = new Set<unknown>()
  const { session, root } = await openAttacked({
    ...options,
    ...(options.mode === undefined && {
      onAsk: ({ args }) => {
        asked.add((args as { command?: unknown }).command)
        return { decision: 'reject' as const }
      },
    }),
  })
  const tally: Tally = { tried: 0, refused: 0, asked: 0, ran: [], broken: [] }
  const before = await snapshot(dirname(root))
  for (let at = 0; at < forms.length; at += perRound) {
    const commands = forms.slice(at, at + perRound).map((form) => form.replaceAll('ROOT', root))
    const known = tally.ran.length
    const results = await runAll(session, commands)
    for (const [index, command] of commands.entries()) {
      const result = results[index] ?? ''
      tally.tried++
      if (asked.has(command)) tally.asked++
      else if (/^Error: (Refused|The call|.* is outside the grant)/.test(result)) tally.refused++
      else tally.ran.push(`${command}: ${result}`)
    }
    const mayHaveRun = tally.ran.length > known || at + perRound >= forms.length
    if (await broke({ root, results, before, mayHaveRun }))
      tally.broken.push(`one of these, or one before them: ${JSON.stringify(commands)}`)
  }
  return tally
}

const changed = async ({ root, before, mayHaveRun }: Attempt): Promise<boolean> =>
  mayHaveRun && (await snapshot(dirname(root))) !== before

const limit = 240_000

describe('attacks on the shell, without a sandbox', () => {
  it.each([
    ['by default', {}],
    ['in the plan mode', { mode: 'plan' }],
    ['in the read-only mode', { mode: 'read-only' }],
    ['where only reading is allowed', { permissionPolicy: { allow: ['read'], defaultDecision: 'deny' } }],
    [
      'where echo, cat and test are allowed',
      { permissionPolicy: { allow: ['bash(echo *)', 'bash(cat *)', 'bash(test *)', 'bash(wait *)'] } },
    ],
    [
      'where every command is allowed and writing is denied',
      { permissionPolicy: { allow: ['bash(*)'], deny: ['fs.write(/**)'] } },
    ],
  ] as const)(
    'no redirection writes %s',
    async (_, options) => {
      const tally = await attack(options as SessionOptions, WRITES, changed)
      console.info(`redirections ${_}: ${JSON.stringify(tally)}`)
      expect(tally.broken).toEqual([])
      expect(tally.ran).toEqual([])
    },
    limit,
  )

  it.each([
    ['with every command allowed', { allow: ['bash(*)'], deny: ['read(**/.env*)'] }],
    ['with everything allowed', { allow: ['*'], deny: ['read(**/.env*)'] }],
  ])(
    'no program shows a denied file %s',
    async (_, permissionPolicy) => {
      const tally = await attack({ permissionPolicy }, READS, async ({ results }) =>
        results.some((result) => result.includes(canary)),
      )
      console.info(`readers ${_}: ${JSON.stringify(tally)}`)
      expect(tally.broken).toEqual([])
      expect(tally.ran).toEqual([])
    },
    limit,
  )

  it(
    'no program starts a denied command',
    async () => {
      const permissionPolicy = { allow: ['bash(*)'], deny: ['bash(rm *)'] }
      const tally = await attack({ permissionPolicy }, RUNS, changed)
      console.info(`wrappers: ${JSON.stringify(tally)}`)
      expect(tally.broken).toEqual([])
      expect(tally.ran).toEqual([])
    },
    limit,
  )

  it(
    'ordinary commands still run',
    async () => {
      const permissionPolicy = { allow: ['bash(*)'], deny: ['bash(rm *)', 'read(**/.env*)'] }
      const held: string[] = []
      const { session } = await openAttacked({
        permissionPolicy,
        onAsk: (request) => {
          held.push(JSON.stringify(request.args))
          return { decision: 'reject' }
        },
      })
      for (const [at, result] of (await runAll(session, ORDINARY)).entries())
        if (/^Error: (Refused|The call)/.test(result)) held.push(`${ORDINARY[at]}: ${result}`)
      expect(held).toEqual([])
    },
    limit,
  )
})
