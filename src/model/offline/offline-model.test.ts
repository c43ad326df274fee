import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { toolboxWorkspace, type WorkspaceFiles } from '../../../test/toolbox/workspace.js'
import { toolMessage } from '../../loop/tool-message.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../../tool/envelope.js'
import type { JsonObject } from '../../tool/json.js'
import { Message } from '../../tool/message.js'
import {
  bashTool,
  editTool,
  gitTool,
  globTool,
  grepTool,
  lsTool,
  readTool,
  writeTool,
} from '../../toolbox/index.js'
import type { ModelAnswer, ModelEvent } from '../model.js'
import { offlineModel } from './offline-model.js'

const toolbox = [bashTool, editTool, gitTool, globTool, grepTool, lsTool, readTool, writeTool]
const names = toolbox.map(({ name }) => name)

type Execute = (tool: string, args: JsonObject) => Envelope | Promise<Envelope>
type Talk = { words: string; calls: [string, JsonObject][]; history: Message[]; events: ModelEvent[] }

/** A minimal loop: calls the model, runs its tools, and repeats until it calls none. */
async function talk(
  prompt: string,
  execute: Execute,
  offered: readonly string[] = names,
  before: Message[] = [],
): Promise<Talk> {
  const model = offlineModel({ howToConfigure: 'Set SOME_KEY.' })
  const history: Message[] = [...before, Message.user(prompt)]
  const calls: [string, JsonObject][] = []
  const events: ModelEvent[] = []
  for (let round = 0; round < 20; round++) {
    const answer: ModelAnswer = await model.answer(
      {
        chatHistory: history,
        documents: [],
        tools: offered.map((name) => ({ name, description: '', parameters: {} })),
      },
      { signal: new AbortController().signal, on: (event) => void events.push(event) },
    )
    history.push(Message.assistant(answer.content))
    const [call] = answer.toolCalls
    if (call === undefined) return { words: answer.text, calls, history, events }
    const args = JSON.parse(call.input)
    calls.push([call.name, args])
    history.push(toolMessage([{ id: call.id, name: call.name, envelope: await execute(call.name, args) }]))
  }
  throw new Error(`no end: ${JSON.stringify(calls)}`)
}

/** With the real tools, in a real directory. */
async function work(prompt: string, files: WorkspaceFiles): Promise<Talk & { root: string }> {
  const workspace = await toolboxWorkspace(files)
  const execute: Execute = (name, args) => {
    const tool = toolbox.find((each) => each.name === name)
    return tool === undefined ? errorEnvelope(`no tool ${name}`) : workspace.call(tool, args)
  }
  return { ...(await talk(prompt, execute)), root: workspace.root }
}

const files: WorkspaceFiles = {
  'src/app.ts': 'createServer(2)\n',
  'src/server.ts':
    'import http\n\nexport function createServer(port) {\n  return http.listen(port) // TODO\n}\n',
  'src/server.test.ts': "it('works', () => createServer(1)) // TODO\n",
  'docs/guide.md': 'Call createServer first.\n',
  'README.md': 'A colour is a colour.\nOne shade.\n',
}

describe('the offline model, with real tools', () => {
  it('finds text: the best place with its context, and the others', async () => {
    const { words, calls } = await work('Where is createServer defined?', files)
    expect(calls.map(([name]) => name)).toEqual(['grep', 'read'])
    expect(words).toContain('"createServer" is in src/server.ts:3 (4 match(es) in 4 file(s))')
    expect(words).toContain('return http.listen(port)')
    expect(words).toContain('docs/guide.md:1')
  })

  it('finds text ignoring case, files by name, and reports when there is nothing', async () => {
    expect((await work('find "CREATESERVER"', files)).words).toContain('src/server.ts:3')
    expect((await work('find guide', files)).words).toContain('docs/guide.md')
    expect((await work('find files named *.md', files)).words).toContain('README.md')
    expect((await work('search for a(b in src', files)).words).toContain('found "a(b" neither in the text')
  })

  it.each([
    ['read README.md', 'A colour is a colour.'],
    ['show me lines 2-2 of README.md', 'One shade.'],
    ['show docs/guide.md', 'Call createServer first.'],
    ['open guide.md', 'docs/guide.md says'],
    ['read server.rs', 'There is no file server.rs, and no other file with that name.'],
  ])('reads files: %s', async (prompt, expected) => {
    expect((await work(prompt, files)).words).toContain(expected)
  })

  it('reads only the requested lines', async () => {
    expect((await work('show lines 2 to 2 of README.md', files)).words).not.toContain('A colour')
  })

  it.each([
    ['list src', 'server.test.ts'],
    ['ls', 'README.md'],
    ['List the files in docs', 'guide.md'],
    ['list *.ts files', 'src/server.ts'],
  ])('lists: %s', async (prompt, expected) => {
    const { words, calls } = await work(prompt, files)
    expect(words).toContain(expected)
    expect(calls).toHaveLength(1)
  })

  it.each([
    ['count TODO', '"TODO" occurs 2 times, in 2 files.'],
    [
      'How many times does "createServer" occur in docs?',
      '"createServer" occurs 1 times in docs, in 1 file.',
    ],
    ['how many *.ts files are there?', 'There are 3 files that match *.ts.'],
    ['count *.md files', 'There are 2 files that match *.md.'],
    ['count lines in README.md', 'README.md has 2 lines.'],
    ['count FIXME', '"FIXME" does not occur.'],
  ])('counts: %s', async (prompt, expected) => {
    expect((await work(prompt, files)).words).toContain(expected)
  })

  it('runs commands, and distinguishes success from failure', async () => {
    const good = await work('run `echo one; echo two`', files)
    expect(good.calls).toEqual([['bash', { command: 'echo one; echo two' }]])
    expect(good.words).toContain(
      'I ran echo one; echo two, and it succeeded. It printed:\n\n    one\n    two',
    )
    const bad = await work('execute false then read README.md', files)
    expect(bad.words).toContain('I ran false, and it failed.')
    expect(bad.words).toContain('have not done: read README.md')
    expect(bad.calls).toHaveLength(1)
  })

  it('finds out how a project is checked', async () => {
    const made = { Makefile: 'test:\n\t@echo all fine\n' }
    const { words, calls } = await work('run the tests', made)
    expect(calls).toEqual([
      ['ls', { path: '.' }],
      ['bash', { command: 'make test' }],
    ])
    expect(words).toContain('make test')
    expect((await work('run the tests', files)).words).toContain('I see no way to run the tests here')
  })

  it('replaces a text: reads, edits, reports', async () => {
    const { words, calls, root } = await work('replace "One shade" with "Two shades" in README.md', files)
    expect(calls.map(([name]) => name)).toEqual(['read', 'edit'])
    expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('Two shades.')
    expect(words).toContain('I replaced "One shade" by "Two shades" in README.md. Replaced 1 occurrence(s)')
  })

  it('changes nothing where the request is ambiguous', async () => {
    const twice = { 'a.txt': 'red\nred\n', 'b.txt': 'blue red\n' }
    const unclear = await work('change red to green in a.txt', twice)
    expect(unclear.words).toContain('is in 2 lines of a.txt, so I changed nothing')
    expect(unclear.calls).toHaveLength(1)
    expect((await work('replace red by green', twice)).words).toContain('is in 2 files')
    expect((await work('replace pink by green in a.txt', twice)).words).toContain('does not contain "pink"')
    const all = await work('replace all red by green in a.txt', twice)
    expect(readFileSync(join(all.root, 'a.txt'), 'utf8')).toBe('green\ngreen\n')
    const only = await work('rename blue to green', twice)
    expect(readFileSync(join(only.root, 'b.txt'), 'utf8')).toBe('green red\n')
  })

  it('writes a file', async () => {
    const { root } = await work('create notes/a.txt with "first line"', {})
    expect(readFileSync(join(root, 'notes/a.txt'), 'utf8')).toBe('first line\n')
  })

  it('processes several requests in order', async () => {
    const prompt = '1. count TODO in src\n2. replace "One" by "Two" in README.md\n3. read README.md'
    const { words, calls } = await work(prompt, files)
    expect(calls.map(([name]) => name)).toEqual(['grep', 'read', 'edit', 'read'])
    expect(words).toMatch(/"TODO" occurs 2 times[\s\S]*I replaced "One"[\s\S]*Two shade/)
  })

  it('shows what git knows', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'one\n' })
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: workspace.root })
    git('init', '-q', '-b', 'trunk')
    git('add', '.')
    git('commit', '-q', '-m', 'first words')
    const execute: Execute = (_, args) => workspace.call(gitTool, args)
    const asked = async (prompt: string) => talk(prompt, execute)
    expect((await asked('show git status')).words).toContain('trunk')
    expect((await asked('which branch is this?')).words).toContain('trunk')
    const log = await asked('show the last 3 commits')
    expect(log.words).toContain('first words')
    expect(log.calls).toEqual([['git', { command: 'log', max_count: 3 }]])
    expect((await asked('show the diff')).words).toContain('No changes.')
  })
})

describe('the offline model', () => {
  const nothing: Execute = () => outputEnvelope('')

  it('reports a denial with its reason, and does not retry', async () => {
    const refuse: Execute = () => errorEnvelope('Refused: no user can approve it. Set onAsk.')
    for (const prompt of [
      'run rm -rf /',
      'replace a by b in c.txt',
      'find x',
      'read a.txt',
      'show the diff',
    ]) {
      const { words, calls } = await talk(prompt, refuse)
      expect(calls).toHaveLength(1)
      expect(words).toMatch(/I was denied the use of "\w+"/)
      expect(words).toContain('no user can approve it. Set onAsk.')
    }
  })

  it('says which tool is missing', async () => {
    const { words, calls } = await talk('find x', nothing, ['read'])
    expect(calls).toEqual([])
    expect(words).toContain('I would need the tool "grep", which is not offered here')
  })

  it.each(['', 'hello', 'help', 'Write me a poem about the sea'])('explains itself: %j', async (prompt) => {
    const { words, calls } = await talk(prompt, nothing)
    expect(calls).toEqual([])
    expect(words).toContain('I am the offline model')
    expect(words).toContain('replace "colour" by "color" in README.md')
    expect(words).toContain('Set SOME_KEY.')
  })

  it('names what it did not understand next to what it did', async () => {
    const { words } = await talk('run ls, then sing a song', () => outputEnvelope('a.txt', { exit_code: 0 }))
    expect(words).toContain('it succeeded')
    expect(words).toContain('I did not understand "sing a song".')
  })

  it('introduces itself once per conversation, and reads only the latest request', async () => {
    const first = await talk('run ls', () => outputEnvelope('a.txt'))
    expect(first.words).toContain('I am the offline model')
    const second = await talk('run pwd', () => outputEnvelope('/'), names, first.history)
    expect(second.words).not.toContain('I am the offline model')
    expect(second.calls).toEqual([['bash', { command: 'pwd' }]])
  })

  it('ignores what a run adds to the conversation', async () => {
    const model = offlineModel()
    const { toolCalls } = await model.answer(
      {
        chatHistory: [Message.user('read a.txt'), Message.user('<environment>\nfind x\n</environment>')],
        documents: [],
        tools: [{ name: 'read', description: '', parameters: {} }],
      },
      { signal: new AbortController().signal, on: () => undefined },
    )
    expect(toolCalls).toMatchObject([{ name: 'read', input: '{"file_path":"a.txt"}' }])
  })

  it('emits small pieces, gives every call a unique id, and is deterministic', async () => {
    const execute: Execute = (tool) =>
      outputEnvelope(tool === 'grep' ? '>a.ts:1: x\n\n1 match(es) in 1 file(s)' : '     1\tx\n')
    const one = await talk('find x', execute)
    const two = await talk('find x', execute)
    expect(one).toEqual(two)
    const pieces = one.events.filter((event) => event.type === 'text')
    expect(pieces.length).toBeGreaterThan(10)
    const ids = one.events.flatMap((event) => (event.type === 'tool_call' ? [event.id] : []))
    expect(new Set(ids).size).toBe(2)
  })

  it('stops when it is aborted', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const answering = offlineModel().answer(
      { chatHistory: [Message.user('help')], documents: [], tools: [] },
      { signal: controller.signal, on: () => controller.abort(reason) },
    )
    await expect(answering).rejects.toBe(reason)
  })
})
