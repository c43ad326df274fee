import { chmod, readFile, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ServeAgentDirOptions } from '../../src/agent/dir/serve-options.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import type { JsonObject } from '../../src/tool/json.js'
import { badEntry, processesWith } from '../mcp/support.js'
import { directoryWith, eventually, newAgent } from './support.js'

const never = '---\ncron: "0 0 1 1 *"\n---\nGo.\n'
const search = `---
kind: script
name: find-todo
path: scripts/find.js
allowed_tools: [grep, write]
limits: { timeoutMs: 20000, maxToolCalls: 5 }
inputs:
  type: object
  properties:
    word: { type: string }
  required: [word]
  additionalProperties: false
---
Finds a word.
`
const script = `export default async function run(ctx, inputs) {
  const found = await ctx.tools.grep({ pattern: inputs.word })
  const written = await ctx.tools.write({ file_path: 'found.txt', content: found.output })
  let listed
  try { listed = await ctx.tools.ls({}) } catch (error) { listed = String(error.message) }
  return { summary: 'looked', found: found.output, written: written.exitCode, listed }
}
`
const call = (name: string, args: JsonObject): ScriptedStep => ({ toolCalls: [{ name, args }] })

/** Serves a directory with these tools, fires it once, and returns what the model received. */
async function fire(
  tools: Readonly<Record<string, string>>,
  steps: readonly (ScriptedStep | string)[],
  options: ServeAgentDirOptions = {},
  env: Readonly<Record<string, string>> = {},
) {
  const dir = await directoryWith({ 'instructions.md': 'You look.', 'schedules/a.md': never, ...tools })
  const work = await directoryWith({ 'notes.txt': 'a TODO here\n', 'scripts/find.js': script })
  const agent = await newAgent({}, env)
  const model = scriptedModel(steps)
  const served = await agent.serveAgentDir(dir, work, { model, sandbox: 'off', ...options })
  const report = await served.runNow('a')
  const session = served.session('a')
  const received = JSON.stringify(model.requests.at(-1)?.chatHistory ?? [])
  return { dir, work, agent, served, session, report, received, model }
}

describe('kind: script', () => {
  it('is a tool with the inputs from the model, and rules apply to each call', async () => {
    const { work, session, report, received, model, agent, served } = await fire(
      { 'tools/find.md': search },
      [call('find-todo', { inputs: { word: 'TODO' } }), 'done'],
      { permissionPolicy: { allow: ['write(found.txt)'] } },
    )
    expect(report).toMatchObject({ status: 'completed' })
    expect(await readFile(join(work, 'found.txt'), 'utf8')).toContain('notes.txt')
    // Not among allowed_tools, although the session has it and reading is allowed.
    expect(received).toMatch(/ls.{0,40}is not allowed|not allowed.{0,80}ls|allowed_tools/i)
    const definition = session?.toolDefinitions().find(({ name }) => name === 'find-todo')
    expect(definition).toMatchObject({
      description: 'Finds a word.',
      parameters: { required: ['inputs'], properties: { inputs: { required: ['word'] } } },
    })
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toContain('find-todo')
    const other = agent.session(work, { sessionId: 'ordinary' })
    expect(other.toolNames()).not.toContain('find-todo')
    await served.stop()
  })

  it('gives no permission: without a rule the calls inside it are refused, and a deny applies', async () => {
    const steps = [call('find-todo', { inputs: { word: 'TODO' } }), 'done']
    const without = await fire({ 'tools/find.md': search }, steps)
    expect(without.report.status).toBe('completed')
    await expect(readFile(join(without.work, 'found.txt'), 'utf8')).rejects.toThrow(/ENOENT/)
    const denied = await fire({ 'tools/find.md': search }, steps, {
      permissionPolicy: { allow: ['write(*)'], deny: ['find-todo'] },
    })
    await expect(readFile(join(denied.work, 'found.txt'), 'utf8')).rejects.toThrow(/ENOENT/)
    expect(denied.received).toMatch(/refused|denied/i)
  })

  it('never exceeds the ceiling of the host', async () => {
    const { work, received } = await fire(
      { 'tools/find.md': search },
      [call('find-todo', { inputs: { word: 'TODO' } }), 'done'],
      {
        permissionPolicy: { allow: ['write(*)'] },
        ceiling: { fs: { read: ['{workspace}/**'] } },
      },
    )
    await expect(readFile(join(work, 'found.txt'), 'utf8')).rejects.toThrow(/ENOENT/)
    expect(received).toContain('looked')
  })

  it('can call nothing when it names nothing, and rejects invalid inputs', async () => {
    const bare = search.replace('allowed_tools: [grep, write]\n', '')
    const { received, work } = await fire(
      { 'tools/find.md': bare },
      [
        call('find-todo', { inputs: { words: 'x' } }),
        call('find-todo', { inputs: { word: 'TODO' } }),
        'done',
      ],
      { permissionPolicy: { allow: ['write(*)', 'grep(*)'] } },
    )
    expect(received).toContain('word')
    await expect(readFile(join(work, 'found.txt'), 'utf8')).rejects.toThrow(/ENOENT/)
    expect(received).not.toContain('looked')
  })

  it('reads its script again for each call, so that the next call runs the current text', async () => {
    const { served, session, work } = await fire({ 'tools/find.md': search }, ['nothing to do'])
    await writeFile(join(work, 'scripts/find.js'), `async function run() { return { summary: 'changed' } }`)
    expect(await session?.tool('find-todo', { inputs: { word: 'x' } })).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('changed'),
    })
    await served.stop()
  })
})

describe('kind: mcp', () => {
  /** The sample of the contract, unchanged. */
  const github = `---
kind: mcp
name: github
transport: stdio
command: npx
args: ["-y", "@modelcontextprotocol/server-github"]
env:
  GITHUB_TOKEN: "\${GITHUB_TOKEN}"
---
GitHub issues and pull request tools.
`

  it('starts npx as written, with the home of the user, and the body of the file describes the server to the model', async () => {
    // An npx that needs what npx needs: the user's home, and somewhere to write.
    const world = new URL('../mcp/world-server.mjs', import.meta.url).pathname
    const bin = await directoryWith({
      npx: `#!/bin/sh\ntest "$*" = "-y @modelcontextprotocol/server-github" || exit 9\nexec ${process.execPath} ${world}\n`,
    })
    await chmod(join(bin, 'npx'), 0o755)
    const before = process.env['PATH']
    process.env['PATH'] = `${bin}:${before}`
    onTestFinished(() => {
      process.env['PATH'] = before
    })
    const written = join(bin, 'note')
    const { received, model, session, served } = await fire(
      { 'tools/github.md': github },
      [call('mcp__github__look', { write: written }), 'done'],
      { permissionPolicy: { allow: ['mcp__github__*'] }, sandbox: 'auto' },
      { GITHUB_TOKEN: 'ghp_not-for-the-model' },
    )
    expect(await readFile(written, 'utf8')).toBe('x')
    expect(received).toContain(homedir())
    expect(received).not.toContain('ghp_not-for-the-model')
    expect(model.requests[0]?.instructions).toContain(
      '- mcp__github__*: GitHub issues and pull request tools.',
    )
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toContain('mcp__github__look')
    expect(await session?.mcpStatus()).toMatchObject([{ name: 'github', connected: true, confined: false }])
    await served.stop()
  })

  it('accepts the settings of a sandbox, with checked values', async () => {
    const agent = await newAgent({}, { GITHUB_TOKEN: 'x' })
    const work = await directoryWith({})
    const serve = async (fields: string) => {
      const tool = github.replace('transport: stdio\n', `transport: stdio\n${fields}\n`)
      const dir = await directoryWith({ 'instructions.md': 'x', 'schedules/a.md': never, 'tools/g.md': tool })
      return agent.serveAgentDir(dir, work, { model: scriptedModel(['x']) })
    }
    await expect(serve('sandbox: on')).rejects.toThrow(/tools\/g\.md:5: .*sandbox/)
    await expect(serve('sandbox: off\nwritable: ["."]')).rejects.toThrow(
      /'writable' .* no effect with sandbox/,
    )
    await expect(serve('allow_hosts: ["http://a"]')).rejects.toThrow(/is not a host to allow/)
  })

  const echo = (word: string, fault = 'none'): string =>
    `---\nkind: mcp\nname: echo\ncommand: ${process.execPath}\nargs: ["${badEntry}", ${fault}, "${word}"]\nenv: { TOKEN: "\${ECHO_TOKEN}" }\n---\nEchoes.\n`

  it('is connected when the session of a schedule starts, and closed with it', async () => {
    const word = 'agent-dir-echo-one'
    const env = { ECHO_TOKEN: 'secret-of-the-echo' }
    const store = join(await directoryWith({}), 'kept')
    const { served, session, report, received, agent, work } = await fire(
      { 'tools/echo.md': echo(word) },
      [call('mcp__echo__echo', { message: 'hello secret-of-the-echo' }), 'done'],
      { permissionPolicy: { allow: ['mcp__echo__*'] }, sessionStore: new FileSessionStore(store) },
      env,
    )
    expect(report).toMatchObject({ status: 'completed' })
    expect(received).toContain('Echo: hello')
    expect(session?.toolNames()).toContain('mcp__echo__echo')
    expect(processesWith(word)).toHaveLength(1)
    const other = agent.session(work, { sessionId: 'ordinary' })
    expect(other.toolNames().filter((name) => name.startsWith('mcp__'))).toEqual([])
    await served.stop()
    await eventually(() => processesWith(word).length === 0)
    const log = await readFile(join(store, 'schedule%3aa', 'log.jsonl'), 'utf8')
    expect(log).not.toContain('secret-of-the-echo')
  })

  it('asks like any other tool: a file is not a permission', async () => {
    const { received, served } = await fire(
      { 'tools/echo.md': echo('agent-dir-echo-two') },
      [call('mcp__echo__echo', { message: 'hello' }), 'done'],
      {},
      { ECHO_TOKEN: 'x' },
    )
    expect(received).not.toContain('Echo: hello')
    await served.stop()
  })

  it('prevents the start when it cannot be started', async () => {
    const dir = await directoryWith({
      'instructions.md': 'x',
      'schedules/a.md': never,
      'schedules/b.md': never,
      'tools/none.md': '---\nkind: mcp\ncommand: no-such-program-here\n---\nx',
    })
    const agent = await newAgent()
    const work = await directoryWith({})
    const served = agent.serveAgentDir(dir, work, { model: scriptedModel([]), sandbox: 'off' })
    await expect(served).rejects.toMatchObject({
      code: 'schedule_start_failed',
      message: expect.stringMatching(
        /^No schedule was started, because some cannot be started:\n- a: .*\n- b: /,
      ),
    })
    expect(await agent.listSessions()).toEqual([])
  })

  it('keeps the value of a variable out of records and messages', async () => {
    const env = { ARG: 'secret-of-an-argument', PART: 'secret-of-a-part', PLACE: import.meta.dirname }
    const store = join(await directoryWith({}), 'kept')
    const server = `---\nkind: mcp\nname: echo\ncommand: ${process.execPath}\nargs: ["${badEntry}", none, agent-dir-echo-four, "\${ARG}", "\${PLACE}"]\nenv: { LINK: "db://me:\${PART}@host" }\n---\nEchoes.\n`
    const { served, received } = await fire(
      { 'tools/echo.md': server },
      [call('mcp__echo__echo', { message: Object.values(env).join(' ') }), 'done'],
      { permissionPolicy: { allow: ['mcp__echo__*'] }, sessionStore: new FileSessionStore(store) },
      env,
    )
    await served.stop()
    const log = await readFile(join(store, 'schedule%3aa', 'log.jsonl'), 'utf8')
    // What the scripted model has said itself stays before it.
    const [, result = 'none'] = received.split('Echo: ')
    expect(`${log}${result}`).not.toMatch(/secret-of-an-argument|secret-of-a-part/)
    // A directory is not a secret: without it no path could be read.
    expect(result).toContain(env.PLACE)
    const failing = `---\nkind: mcp\ncommand: sh\nargs: ["-c", "echo no way with \${ARG} and $PART >&2; exit 3"]\nenv: { PART: "\${PART}" }\n---\nx`
    const thrown = await fire({ 'tools/failing.md': failing }, [], {}, env).catch((error: Error) => error)
    expect(thrown).toMatchObject({
      code: 'schedule_start_failed',
      message: expect.stringContaining('no way with'),
    })
    const { message, cause } = thrown as Error
    expect(`${message} ${cause}`).not.toMatch(/secret-of-an-argument|secret-of-a-part/)
  })

  it('of agent.acl cannot use a name of the host, and with it the rules of the host', async () => {
    const dir = await directoryWith({
      'instructions.md': 'x',
      'agent.acl': 'max_tool_rounds = 3\nmcp_servers "files" {\n  command = "other"\n}\n',
    })
    const agent = await newAgent({ mcpServers: { files: { command: 'b' } } })
    await expect(agent.serveAgentDir(dir, await directoryWith({}))).rejects.toThrow(
      /agent\.acl:2: duplicate tool name: the tools of files would be called mcp__files__\*, like those of the host; rename it/,
    )
  })

  it('is rejected when the configuration already has its name', async () => {
    const dir = await directoryWith({
      'instructions.md': 'x',
      'tools/files.md': '---\nkind: mcp\ncommand: a\n---\nx',
    })
    const agent = await newAgent({ mcpServers: { files: { command: 'b' } } })
    await expect(agent.serveAgentDir(dir, await directoryWith({}))).rejects.toThrow(
      /tools\/files\.md:1: duplicate tool name: the tools of files would be called mcp__files__\*, like those in the configuration; rename one/,
    )
  })
})

describe('an ordinary session next to a served directory', () => {
  it('has none of its tools: not shown, not found, not callable by a model, a program or the host', async () => {
    const echo = `---\nkind: mcp\nname: echo\ncommand: ${process.execPath}\nargs: ["${badEntry}", none, agent-dir-echo-three]\n---\nEchoes.\n`
    const { agent, served, session, work } = await fire(
      {
        'tools/find.md': search,
        'tools/echo.md': echo,
        'skills/knots/SKILL.md': '---\nname: knots\ndescription: Ties knots.\n---\nTie.',
      },
      ['done'],
      { permissionPolicy: { allow: ['write(found.txt)', 'mcp__echo__*'] } },
    )
    const own = ['find-todo', 'mcp__echo__echo']
    // They are there, while this is looked at.
    expect(session?.toolNames()).toEqual(expect.arrayContaining(own))
    const model = scriptedModel([
      {
        toolCalls: [
          { name: 'find-todo', args: { inputs: { word: 'TODO' } } },
          { name: 'mcp__echo__echo', args: { message: 'hello' } },
          { name: 'tool_search', args: { query: 'echo find a word' } },
          {
            name: 'program',
            args: {
              source: `async function run(ctx) { return { summary: JSON.stringify(Object.keys(ctx.tools)) } }`,
            },
          },
        ],
      },
      'done',
    ])
    const options = { model, sandbox: 'off', permissionPolicy: { allow: ['*'] } } as const
    const ordinary = agent.session(work, { ...options, sessionId: 'ordinary' })
    expect(ordinary.toolNames()).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/find-todo|mcp__/)]),
    )
    expect(JSON.stringify(ordinary.toolDefinitions())).not.toMatch(/find-todo|mcp__echo/)
    await ordinary.send('Look.')
    for (const request of model.requests)
      expect(JSON.stringify(request.tools)).not.toMatch(/find-todo|mcp__echo/)
    const received = JSON.stringify(model.requests.at(-1)?.chatHistory)
    expect(received).toMatch(/Unknown tool .{0,4}find-todo|There is no tool .{0,4}find-todo/)
    expect(received).not.toMatch(/Echo: hello|a TODO here|Ties knots/)
    for (const name of own)
      expect(await ordinary.tool(name, { inputs: { word: 'TODO' }, message: 'hello' })).toMatchObject({
        exitCode: 1,
      })
    await served.stop()
    // Also the very session of the schedule, when it is opened as any other.
    const opened = agent.session(work, { ...options, sessionId: 'schedule:a' })
    expect(opened.toolNames()).not.toEqual(expect.arrayContaining([expect.stringMatching(/find-todo|mcp__/)]))
  })
})

describe('a directory inside its own workspace', () => {
  const serveInside = async (folder: string, options: ServeAgentDirOptions = {}) => {
    const work = await directoryWith({
      'notes.txt': 'a TODO here\n',
      [`${folder}/instructions.md`]: 'You look.',
      [`${folder}/schedules/a.md`]: never,
      'prepared/tools/evil.md': 'x',
    })
    const evil = join(folder, 'tools/evil.md')
    const content = '---\nkind: mcp\ncommand: anything\n---\nx'
    const agent = await newAgent()
    const model = scriptedModel([
      call('write', { file_path: evil, content }),
      call('edit', { file_path: join(folder, 'instructions.md'), old_string: 'look', new_string: 'rule' }),
      call('bash', { command: `mkdir -p '${folder}/tools' && echo x > '${evil}'` }),
      call('bash', { command: `cp -r prepared/tools '${folder}/tools'` }),
      call('bash', { command: `mv prepared/tools '${folder}/tools'` }),
      call('bash', { command: `rm -rf '${folder}/schedules'` }),
      call('write', { file_path: 'report.txt', content: 'mine' }),
      call('read', { file_path: 'notes.txt' }),
      'done',
    ])
    const served = await agent.serveAgentDir(join(work, folder), work, { model, sandbox: 'off', ...options })
    expect(await served.runNow('a')).toMatchObject({ status: 'completed' })
    await served.stop()
    const text = (path: string): Promise<string | undefined> =>
      readFile(join(work, path), 'utf8').catch(() => undefined)
    const received = JSON.stringify(model.requests.at(-1)?.chatHistory ?? [])
    return { received, evil: await text(evil), report: await text('report.txt'), work, text }
  }

  it.each(['agents/watch', '.', 'odd [name] {a,b}'])(
    '%s is not written by its own sessions',
    async (folder) => {
      const allowed = await serveInside(folder, {
        permissionPolicy: { allow: ['write(*)', 'edit(*)', 'bash(*)'], defaultDecision: 'allow' },
      })
      expect(allowed.evil).toBeUndefined()
      expect(await allowed.text(join(folder, 'instructions.md'))).toBe('You look.')
      expect(await allowed.text(join(folder, 'schedules/a.md'))).toBe(never)
      expect(allowed.report).toBe('mine')
      expect(allowed.received).toContain('a TODO here')
    },
  )

  it('is protected also with a policy that is turned off, and a mode that allows all', async () => {
    const { evil, report, text } = await serveInside('agents/watch', {
      permissionPolicy: { enabled: false },
      mode: 'full',
    })
    expect([evil, report, await text('agents/watch/instructions.md')]).toEqual([
      undefined,
      'mine',
      'You look.',
    ])
  })
})
