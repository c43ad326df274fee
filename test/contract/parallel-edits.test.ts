import { readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { SessionOptions } from '../../src/session/options.js'
import { createTool } from '../../src/tool/create-tool.js'
import { calls, later, openSession, toolResults, until } from './open-session.js'

const open: SessionOptions = { permissionPolicy: { defaultDecision: 'allow' } }
const count = 16
const names = Array.from({ length: count }, (_, at) => `line-${at}-`)
const before = names.map((name) => `${name}old\n`).join('')
const after = names.map((name) => `${name}new\n`).join('')
const change = (at: number, file_path = 'a.txt') => ({
  file_path,
  old_string: `${names[at]}old`,
  new_string: `${names[at]}new`,
})
const text = (root: string) => readFile(join(root, 'a.txt'), 'utf8')

describe('calls of one session that edit the same file at the same time', () => {
  it('are all applied when the host makes them', async () => {
    const { session, root } = await openSession([], open, { 'a.txt': before })
    const results = await Promise.all(names.map((_, at) => session.tool('edit', change(at))))
    expect(results.map(({ exitCode, output }) => [exitCode, output])).toEqual(
      names.map(() => [0, 'Replaced 1 occurrence(s) in a.txt (+1 -1 lines)']),
    )
    expect(await text(root)).toBe(after)
  })

  it('are all applied when they name it by different paths', async () => {
    const { session, root } = await openSession([], open, { 'a.txt': before, 'b/x': '' })
    await symlink('../a.txt', join(root, 'b/link.txt'))
    const spellings = ['a.txt', './a.txt', 'b/../a.txt', 'b/link.txt', join(root, 'a.txt')]
    await Promise.all(
      names.map((_, at) => session.tool('edit', change(at, spellings[at % spellings.length]))),
    )
    expect(await text(root)).toBe(after)
  })

  it('are all applied when a program makes them', async () => {
    const { session, root } = await openSession([], open, { 'a.txt': before })
    const { metadata, output } = await session.program({
      source: `export default async (ctx, edits) => {
        const done = await Promise.all(edits.map((edit) => ctx.tools.edit(edit)))
        return done.filter(({ exitCode }) => exitCode !== 0).map(({ output }) => output)
      }`,
      inputs: names.map((_, at) => change(at)),
    })
    expect(metadata?.['script_result'], output).toEqual([])
    expect(await text(root)).toBe(after)
  })

  it('are all applied when they are of one answer, by different tools', async () => {
    const diff = (at: number) =>
      `--- a/a.txt\n+++ b/a.txt\n@@ -${at + 1},1 +${at + 1},1 @@\n-${names[at]}old\n+${names[at]}new\n`
    const { server, session, root } = await openSession(
      [
        calls(
          ...names.map((_, at): [string, Record<string, string>] =>
            at % 2 === 0 ? ['edit', change(at)] : ['patch', { diff: diff(at) }],
          ),
        ),
        'done',
      ],
      open,
      { 'a.txt': before },
    )
    await session.send('go')
    expect(toolResults(server, 1).filter((result) => /error|concurrent|changed/i.test(result))).toEqual([])
    expect(await text(root)).toBe(after)
  })

  it('are all applied when the host, a program and a model make them together', async () => {
    const { session, root } = await openSession(
      [
        calls(
          ['edit', change(0)],
          [
            'program',
            {
              source: `export default (ctx, edits) => Promise.all(edits.map((edit) => ctx.tools.edit(edit)))`,
              inputs: [change(1), change(2)],
            },
          ],
          ['batch', { invocations: [3, 4].map((at) => ({ tool: 'edit', args: change(at) })) }],
        ),
        'done',
      ],
      { ...open, staleWriteCheck: false },
      { 'a.txt': before },
    )
    const [, ...direct] = await Promise.all([
      session.send('go'),
      ...names.slice(5).map((_, at) => session.tool('edit', change(at + 5))),
    ])
    expect(direct.filter(({ exitCode }) => exitCode !== 0)).toEqual([])
    expect(await text(root)).toBe(after)
  })
})

describe('a call that writes', () => {
  const slow = (begun: () => void, go: Promise<void>) =>
    createTool({
      name: 'slow_writer',
      description: 'Writes a file after a while.',
      input: z.object({ file_path: z.string() }),
      kind: 'edit',
      requires: { fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] } },
      touches: ({ file_path }) => [{ fs: 'write', path: file_path }],
      execute: async ({ file_path }, { runtime }) => {
        begun()
        await go
        await runtime?.files?.write(file_path, 'slow')
        return 'written'
      },
    })

  it('does not delay calls that write other files', async () => {
    const begun = later()
    const go = later()
    const { session } = await openSession([], { ...open, tools: [slow(begun.resolve, go.promise)] })
    const first = session.tool('slow_writer', { file_path: 'a.txt' })
    await begun.promise
    expect(await session.tool('write', { file_path: 'b.txt', content: 'b' })).toMatchObject({ exitCode: 0 })
    go.resolve()
    expect(await first).toMatchObject({ exitCode: 0 })
  })

  it('that waits for another one ends when its run is aborted', async () => {
    const begun = later()
    const go = later()
    const { session, root } = await openSession(
      [calls(['write', { file_path: 'a.txt', content: 'model' }]), 'done'],
      { ...open, tools: [slow(begun.resolve, go.promise)] },
    )
    const first = session.tool('slow_writer', { file_path: 'a.txt' })
    await begun.promise
    const stopping = new AbortController()
    const stream = await session.stream({ prompt: 'go', signal: stopping.signal })
    await until(stream, 'tool_execution_start')
    stopping.abort()
    for await (const event of stream) void event
    go.resolve()
    await first
    expect(await text(root)).toBe('slow')
  })

  it('makes calls inside it without waiting for itself', async () => {
    const outer = createTool({
      name: 'outer_writer',
      description: 'Writes through other tools.',
      input: z.object({}),
      kind: 'edit',
      requires: { fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] } },
      touches: () => [{ fs: 'write', path: 'a.txt' }],
      execute: async (_, { runtime }) => {
        const args = { file_path: 'a.txt', content: 'inner' }
        const [done] = (await runtime?.session?.tools?.callAll([{ tool: 'write', args }])) ?? []
        return done?.type ?? 'none'
      },
    })
    const { session, root } = await openSession([], { ...open, tools: [outer] })
    expect(await session.tool('outer_writer', {})).toMatchObject({ output: 'output' })
    expect(await text(root)).toBe('inner')
  })
})
