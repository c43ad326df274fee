import { createHash } from 'node:crypto'
import { readdir, readFile, readlink, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../../src/agent/agent.js'
import type { SessionOptions } from '../../../src/session/options.js'
import type { Session } from '../../../src/session/session.js'
import { makeRepository, makeWorkspace, whenDone } from '../../contract/open-session.js'
import { byPrompt, call } from '../../contract/subagents.js'
import { ORDINARY, READS, RUNS, WRITES } from './attack-forms.js'

const canary = 'c4n4ry-0f-the-env-file'

/**
 * A session on a workspace worth attacking. The model runs the command that it is asked for, and repeats what it saw.
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
    turn === 0 ? call('bash', { command: prompt, timeout: 110_000 }) : `result: ${results.join('\n')}`,
  )
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  return { session: agent.session(root, { sandbox: 'off', model, ...options }), root }
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
  readonly text: string
  readonly before: string
  /** It was started, or no more are to come: only then is it worth looking for its traces. */
  readonly mayHaveRun: boolean
}

/** Tries every form; `broke` says what it did although it should not have. */
async function attack(
  options: SessionOptions,
  forms: readonly string[],
  broke: (at: Attempt) => Promise<boolean>,
): Promise<Tally> {
  let asks = 0
  const { session, root } = await openAttacked({
    ...options,
    ...(options.mode === undefined && {
      onAsk: () => {
        asks++
        return { decision: 'reject' as const }
      },
    }),
  })
  const tally: Tally = { tried: 0, refused: 0, asked: 0, ran: [], broken: [] }
  const before = await snapshot(dirname(root))
  for (const [at, form] of forms.entries()) {
    const command = form.replaceAll('ROOT', root)
    const asked = asks
    const known = tally.ran.length
    const { text } = await session.send(command)
    tally.tried++
    if (asks > asked) tally.asked++
    else if (/^result: Error: (Refused|The call|.* is outside the grant)/.test(text)) tally.refused++
    else tally.ran.push(`${command}: ${text}`)
    const ran = tally.ran.length > known
    const mayHaveRun = ran || at === forms.length - 1
    if (await broke({ root, text, before, mayHaveRun }))
      tally.broken.push(ran ? command : `${command}, or one before it`)
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
      const tally = await attack({ permissionPolicy }, READS, async ({ text }) => text.includes(canary))
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
      for (const command of ORDINARY) {
        const { text } = await session.send(command)
        if (/result: (Refused|The call)/.test(text)) held.push(`${command}: ${text}`)
      }
      expect(held).toEqual([])
    },
    limit,
  )
})
