import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { StoreError } from '../../src/store/errors.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { OpenLogOptions, SessionLog } from '../../src/store/session-store.js'
import { removeDeadTrees } from '../../src/workspace/git/isolated-tree.js'
import { processScope, readProcess } from '../../src/workspace/shell/process-table.js'
import { calls, makeRepository, openSession, type Script, toolResults } from './open-session.js'

const trees = join(tmpdir(), `capstan-${process.getuid?.() ?? 'user'}`, 'worktrees')
const ownTrees = (): string[] =>
  existsSync(trees) ? readdirSync(trees).filter((name) => name.startsWith(`${process.pid}-`)) : []

const files = { 'a.txt': 'one\n', 'dir/b.txt': 'two\n', '.gitignore': 'ignored\n' }
const allowed = { permissionPolicy: { allow: ['write(*)', 'edit(*)', 'bash(*)'] } }
const edit = (file_path: string, old_string: string, new_string: string) =>
  ['edit', { file_path, old_string, new_string }] as [string, { [name: string]: string }]

/** The parent hands over one task, and the agent of the task makes these calls. */
function delegating(...work: readonly ReturnType<typeof calls>[]): Script {
  let inner = 0
  return ({ body }) => {
    const text = JSON.stringify(body)
    if (!text.includes('do the isolated work')) return 'nothing to do'
    if (text.includes('"name":"task"') && text.includes('PARENT PROMPT'))
      return text.includes('Task completed') || text.includes('Task failed')
        ? 'merged'
        : calls(['task', { prompt: 'do the isolated work', isolation: 'worktree' }])
    return work[inner++] ?? 'The work is done.'
  }
}

const prompt = 'PARENT PROMPT: do the isolated work'

describe('a task with isolation: worktree', () => {
  it('edits its own checkout, gives the parent a patch, and leaves nothing on disk', async () => {
    const script = delegating(
      calls(edit('a.txt', 'one', 'ONE')),
      calls(
        ['write', { file_path: 'new.txt', content: 'new\n' }],
        ['write', { file_path: 'ignored', content: 'x' }],
      ),
      calls(['bash', { command: 'rm dir/b.txt && git status --short && git log --oneline' }]),
    )
    const { session, root, server } = await openSession(script, allowed, files)
    makeRepository(root)
    await session.send(prompt)
    const result = toolResults(server, server.requests.length - 1).at(-1) ?? ''
    expect(result).toContain('Task completed')
    expect(result).toContain('modified a.txt')
    expect(result).toContain('added new.txt')
    expect(result).toContain('deleted dir/b.txt')
    expect(result).not.toContain('ignored')
    expect(result).not.toContain('Conflicts')
    expect(result).toMatch(/^\+ONE$/m)
    const inside = server.requests.map((_, n) => toolResults(server, n).join('\n')).join('\n')
    expect(inside).toContain(' D dir/b.txt')
    expect(inside).toContain('first commit')
    // The workspace is as it was, and the patch applies to it.
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('one\n')
    expect(existsSync(join(root, 'new.txt'))).toBe(false)
    expect(ownTrees()).toEqual([])
    const [, path = ''] = /whole: ([^)]+)\)/.exec(result) ?? []
    execFileSync('git', ['apply', path], { cwd: root })
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('ONE\n')
    expect(existsSync(join(root, 'dir/b.txt'))).toBe(false)
  })

  it('gives the parent its patch although the last records of the task could not be written', async () => {
    class FullStore extends MemorySessionStore {
      override async open(id: string, options: OpenLogOptions): Promise<SessionLog> {
        const log = await super.open(id, options)
        if (id === session.sessionId) return log
        return Object.assign(log, {
          close: () => Promise.reject(new StoreError('store_full', 'The disk is full.')),
        })
      }
    }
    const script = delegating(calls(edit('a.txt', 'one', 'ONE')))
    const { session, root, server } = await openSession(
      script,
      { ...allowed, sessionStore: new FullStore() },
      files,
    )
    makeRepository(root)
    const failures: unknown[] = []
    for await (const event of await session.stream(prompt))
      if (event.type === 'persistence_failed') failures.push(event)
    const result = toolResults(server, server.requests.length - 1).at(-1) ?? ''
    expect(result).toContain('Task completed')
    expect(result).toContain('modified a.txt')
    expect(failures).toMatchObject([{ operation: 'task', error: 'The disk is full.' }])
  })

  it('reports files that differ in the workspace from the commit as conflicts', async () => {
    const script = delegating(
      calls(edit('a.txt', 'one', 'ONE'), ['write', { file_path: 'new.txt', content: 'theirs\n' }]),
    )
    const { session, root, server } = await openSession(script, allowed, files)
    makeRepository(root)
    writeFileSync(join(root, 'a.txt'), 'changed meanwhile\n')
    writeFileSync(join(root, 'new.txt'), 'mine\n')
    await session.send(prompt)
    const result = toolResults(server, server.requests.length - 1).at(-1) ?? ''
    expect(result).toMatch(/Conflicts: .*: a\.txt, new\.txt/)
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('changed meanwhile\n')
  })

  it('is not undone with the run of the parent, and works in the directory of the workspace in the repository', async () => {
    const { session, root, server, agent } = await openSession(delegating(), allowed, {
      'part/a.txt': 'one\n',
    })
    makeRepository(root)
    await session.close()
    const part = agent.session(join(root, 'part'), { sandbox: 'off', ...allowed })
    const task = await part.task({ prompt: 'do the isolated work', isolation: 'worktree' })
    expect(task.output).toContain('Changes: none in its worktree.')
    expect(server.requests).toHaveLength(1)
    expect(JSON.stringify(server.requests[0]?.body)).toMatch(/worktrees\/[^"]*\/tree\/part/)
  })

  it('fails without a repository or a commit, and says why', async () => {
    const { session } = await openSession(delegating(), allowed, files)
    const task = await session.task({ prompt: 'do the isolated work', isolation: 'worktree' })
    expect(task.output).toContain('it must be in a git repository with at least one commit')
    expect(ownTrees()).toEqual([])
  })

  it('is removed when it is cancelled', async () => {
    const { session, root } = await openSession(
      ({ body }) => (JSON.stringify(body).includes('PARENT') ? 'x' : { stall: true }),
      allowed,
      files,
    )
    makeRepository(root)
    const stopping = new AbortController()
    const task = session.task({ prompt: 'wait', isolation: 'worktree' }, { signal: stopping.signal })
    await expect
      .poll(() => session.subagentTasks().then((tasks) => tasks.some(({ status }) => status === 'running')))
      .toBe(true)
    await expect.poll(ownTrees).toHaveLength(1)
    stopping.abort()
    await task
    // A call that was aborted is answered before git has ended, on a slow machine.
    await expect.poll(ownTrees).toEqual([])
  })
})

describe('steps of a host with isolation: worktree', () => {
  const steps = ['one', 'two', 'three'].map((taskId) => ({
    taskId,
    agent: 'general',
    prompt: `do the isolated work: ${taskId}`,
    isolation: 'worktree' as const,
  }))
  /** The first two change the same file. */
  const script: Script = ({ body }) => {
    const text = JSON.stringify(body)
    if (text.includes('"role":"tool"')) return 'Done.'
    const file_path = text.includes('work: three') ? 'other.txt' : 'a.txt'
    return calls(['write', { file_path, content: 'changed\n' }])
  }

  it('have their changes in their outcomes, and the files that other steps changed too', async () => {
    const { session, root } = await openSession(script, allowed, files)
    makeRepository(root)
    const shared = [{ path: 'a.txt', taskIds: ['one', 'two'] }]
    const { outcomes } = await session.parallel(steps, 1_000_000)
    expect(outcomes.map(({ taskId, changes, conflicts }) => [taskId, changes?.files, conflicts])).toEqual([
      ['one', [{ path: 'a.txt', status: 'modified' }], shared],
      ['two', [{ path: 'a.txt', status: 'modified' }], shared],
      ['three', [{ path: 'other.txt', status: 'added' }], undefined],
    ])
    expect(readFileSync(outcomes[0]?.changes?.patchPath ?? '', 'utf8')).toContain('+changed')
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('one\n')
    const odd = [{ ...steps[0], isolation: 'copy' }]
    await expect(session.parallel(odd as never)).rejects.toThrow('isolation must be "worktree"')
  })

  it('run again when a workflow is resumed, because their patches end with the session', async () => {
    let works = 0
    const failing: Script = (request) => {
      const text = JSON.stringify(request.body)
      if (text.includes('fail here')) return { status: 400, message: 'no' }
      if (!text.includes('"role":"tool"')) works++
      return script(request, 0)
    }
    const sessionStore = new MemorySessionStore()
    const { session, root } = await openSession(failing, { ...allowed, sessionStore }, files)
    makeRepository(root)
    const plan = [steps[0], { taskId: 'last', agent: 'general', prompt: 'fail here' }] as typeof steps
    await session.parallelResumable(plan, 'flow')
    const [first] = await session.parallelResumable(plan, 'flow')
    expect(works).toBe(2)
    expect(first?.changes?.files).toEqual([{ path: 'a.txt', status: 'modified' }])
  })
})

describe('worktrees of killed processes', () => {
  it('are removed by the next one, and those of live processes stay', async () => {
    mkdirSync(trees, { recursive: true, mode: 0o700 })
    const owner = readProcess(process.pid)
    const dead = join(trees, `${process.pid}-dead`)
    const living = join(trees, `${process.pid}-living`)
    const elsewhere = join(trees, `${process.pid}-elsewhere`)
    for (const directory of [dead, living, elsewhere]) mkdirSync(join(directory, 'tree'), { recursive: true })
    // As a cache of Go modules is.
    const closed = join(dead, 'tree/cache')
    mkdirSync(closed)
    writeFileSync(join(closed, 'module'), '')
    chmodSync(closed, 0o555)
    const [boot] = processScope().split('/')
    // A process of the same number that started at another time.
    writeFileSync(join(dead, 'owner'), `${process.pid}\n1\n${processScope()}\n`)
    writeFileSync(join(living, 'owner'), `${process.pid}\n${owner?.startTime}\n${processScope()}\n`)
    writeFileSync(join(elsewhere, 'owner'), `${process.pid}\n1\n${boot}/another\n`)
    expect(await removeDeadTrees()).toBeGreaterThanOrEqual(1)
    expect(ownTrees().toSorted()).toEqual([`${process.pid}-elsewhere`, `${process.pid}-living`])
    execFileSync('rm', ['-r', living, elsewhere])
  })
})
