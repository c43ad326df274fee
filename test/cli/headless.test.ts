import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openPlace } from './drive.js'

const files = { 'engine.js': 'export const speed = 9\n' }
const edit = {
  name: 'edit',
  args: { file_path: 'engine.js', old_string: 'speed = 9', new_string: 'speed = 12' },
}

describe('capstan run', () => {
  it('prints only the answer on standard output', async () => {
    const { run, model } = await openPlace(files)
    const { server, flags } = await model([
      { text: 'Looking.', toolCalls: [{ name: 'read', args: { file_path: 'engine.js' } }] },
      'Nine knots.',
    ])
    expect(await run(['run', ...flags, 'How fast?'])).toEqual({
      code: 0,
      stdout: 'Nine knots.\n',
      stderr: '',
    })
    expect(JSON.stringify(server.requests[0]?.body)).toContain('How fast?')
  })

  it('refuses a call that needs an approval, reports it with the rule that would allow it, and exits with 3', async () => {
    const { run, model, root } = await openPlace(files)
    const { flags } = await model([{ toolCalls: [edit] }, 'I may not.'])
    const { code, stdout, stderr } = await run(['run', ...flags, 'Faster!'])
    expect({ code, stdout }).toEqual({ code: 3, stdout: 'I may not.\n' })
    expect(stderr).toContain('1 call was refused because no user could be asked:')
    expect(stderr).toContain("--allow 'edit(engine.js)'")
    expect(await readFile(join(root, 'engine.js'), 'utf8')).toBe(files['engine.js'])
  })

  it.each([
    ['the rule of the report', ['--allow', 'edit(engine.js)']],
    ['a mode', ['--mode', 'accept-edits']],
  ])('runs it with %s', async (_, more) => {
    const { run, model, root } = await openPlace(files)
    const { flags } = await model([
      { toolCalls: [{ name: 'read', args: { file_path: 'engine.js' } }] },
      { toolCalls: [edit] },
      'Done.',
    ])
    expect(await run(['run', ...flags, ...more, 'Faster!'])).toMatchObject({ code: 0, stdout: 'Done.\n' })
    expect(await readFile(join(root, 'engine.js'), 'utf8')).toBe('export const speed = 12\n')
  })

  it('applies a deny rule over every allow rule', async () => {
    const { run, model } = await openPlace(files)
    const { flags } = await model([
      { toolCalls: [{ name: 'read', args: { file_path: 'engine.js' } }] },
      'No.',
    ])
    const { stdout } = await run([
      'run',
      ...flags,
      '--json',
      '--mode',
      'full',
      '--deny',
      'read(engine.js)',
      'Read it',
    ])
    expect(stdout).toContain('"type":"permission_denied"')
    expect(stdout).not.toContain('speed')
  })

  it('does not wait for an answer to a question of the model', async () => {
    const { run, model } = await openPlace()
    const question = {
      name: 'question',
      args: {
        questions: [
          {
            question: 'Which?',
            header: 'Which',
            options: [
              { label: 'a', description: 'A' },
              { label: 'b', description: 'B' },
            ],
          },
        ],
      },
    }
    const { flags } = await model([{ toolCalls: [question] }, 'I chose a.'])
    expect(await run(['run', ...flags, 'Choose.'])).toMatchObject({ code: 0, stdout: 'I chose a.\n' })
  })

  it.each([
    ['a limit of rounds', ['--max-rounds', '1'], 4, 'used all of its 1 tool rounds'],
    ['a budget', ['--budget', '10tokens'], 4, "Budget exhausted on 'tokens'"],
    ['a budget in dollars', ['--budget', '0.000001usd'], 4, "Budget exhausted on 'usd'"],
    ['a limit of time', ['--timeout', '300ms'], 4, '300'],
  ])('ends with 4 at %s', async (_, more, code, says) => {
    const { run, model } = await openPlace(files)
    const { flags } = await model((_request, n) =>
      more.includes('--timeout')
        ? { stall: true }
        : { toolCalls: [{ name: 'ls', args: { path: '.' }, id: `c${n}` }] },
    )
    const outcome = await run(['run', ...flags, ...more, 'Go.'])
    expect(outcome).toMatchObject({ code, stdout: '' })
    expect(outcome.stderr).toContain(says)
    expect(outcome.stderr).toMatch(/hint: Continue with: capstan run --session \S+ "continue"/)
  })

  it('exits with 5 when the model does not answer, and prints why', async () => {
    const { run, model } = await openPlace()
    const { flags } = await model(() => ({ status: 401, message: 'bad key' }))
    const { code, stderr } = await run(['run', ...flags, 'Hello'])
    expect(code).toBe(5)
    expect(stderr).toMatch(/^capstan: .*401/m)
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])(
    'ends with the code of %s when it is cancelled, and leaves a session that can be resumed',
    async (name, code) => {
      const { run, model } = await openPlace()
      const { server, flags } = await model((_, n) => (n === 0 ? { stall: true } : 'Here again.'))
      const stopping = new AbortController()
      void server.request(0).then(() => stopping.abort(name))
      const cancelled = await run(['run', ...flags, '--session', 's', 'Hello'], { signal: stopping.signal })
      expect(cancelled).toMatchObject({ code, stdout: '' })
      expect(await run(['run', ...flags, '--session', 's', 'Still there?'])).toMatchObject({
        code: 0,
        stdout: 'Here again.\n',
      })
    },
  )

  it('succeeds with --verify only when the checks pass', async () => {
    const { run, model } = await openPlace({ Makefile: 'test:\n\texit 1\n' })
    const { flags } = await model(() => 'Done, I promise.')
    const { code, stderr } = await run(['run', ...flags, '--verify', 'Do it.'])
    expect(code).toBe(3)
    expect(stderr).toContain('not verified: 1 failed')
  })

  it('escapes control sequences in the output of models and tools', async () => {
    const { run, model } = await openPlace({ 'a\u001b[2Jb.txt': 'x' })
    const { flags } = await model([
      {
        toolCalls: [
          { name: 'ls', args: { path: '.' } },
          { name: 'bash', args: { command: "printf '\\x1b]0;x\\x07'" } },
        ],
      },
      'Hidden\u001b]52;c;eA==\u0007 \u009b2J\u202e.',
    ])
    const text = await run(['run', ...flags, '-v', 'Show'], { isTTY: { stdout: true, stderr: true } })
    // Colours of our own are the only sequences.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the introducer of a style
    const rest = (text.stdout + text.stderr).replace(/\x1b\[\d+m/g, '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal obeys
    expect(rest).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202e]/)
    expect(text.stdout).toBe('Hidden\\x1b]52;c;eA==\\x07 \\x9b2J\\u202e.\n')
  })
})

describe('text from standard input', () => {
  it('is added to the prompt, or is the prompt', async () => {
    const { run, model } = await openPlace()
    const { server, flags } = await model(() => 'Read.')
    await run(['run', ...flags, 'Review this'], { stdin: '+ a line\n' })
    await run(['run', ...flags], { stdin: 'What is this?\n' })
    await run(['run', ...flags, '-'], { stdin: 'From a dash\n' })
    await run(['run', ...flags, '--no-stdin', 'Alone'], { stdin: 'unread' })
    const prompts = server.requests.map(({ body }) => lastUserText(body))
    expect(prompts).toEqual([
      'Review this\n\n<stdin>\n+ a line\n</stdin>',
      'What is this?',
      'From a dash',
      'Alone',
    ])
  })

  it('is required when there is no prompt', async () => {
    const { run } = await openPlace()
    expect(await run(['run'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Missing argument: PROMPT'),
    })
    expect(await run(['run'], { isTTY: { stdin: true } })).toMatchObject({ code: 2 })
  })
})

describe('the JSON output', () => {
  it('is one object with the whole result', async () => {
    const { run, model } = await openPlace(files)
    const { flags } = await model([
      { toolCalls: [edit] },
      { text: 'No.', usage: { inputTokens: 7, outputTokens: 2 } },
    ])
    const { code, stdout, stderr } = await run([
      'run',
      ...flags,
      '--output-format',
      'json',
      '--session',
      's1',
      'Faster!',
    ])
    const result = JSON.parse(stdout)
    expect(result).toMatchObject({
      type: 'result',
      outcome: 'incomplete',
      exitCode: 3,
      sessionId: 's1',
      model: 'test/m',
      text: 'No.',
      finish: 'stop',
      rounds: 2,
      toolCalls: 1,
      refused: [{ toolName: 'edit', args: edit.args, rules: ['edit(engine.js)'] }],
      warnings: [],
    })
    expect(result.usage.totalTokens).toBeGreaterThan(0)
    expect(result.costUsd).toBeGreaterThan(0)
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
  })

  it('is one line for each event, the session first and the result last', async () => {
    const { run, model } = await openPlace(files)
    const { flags } = await model(['Hello.'])
    const { stdout, code } = await run(['run', ...flags, '--json', 'Hi'])
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines[0]).toMatchObject({ type: 'session', model: 'test/m', stored: true })
    expect(lines.slice(1, 3).map(({ type }) => type)).toEqual(['agent_start', 'turn_start'])
    expect(lines.flatMap(({ type, text }) => (type === 'text_delta' ? [text] : [])).join('')).toBe('Hello.')
    expect(lines.at(-2)).toMatchObject({ type: 'agent_end' })
    expect(lines.at(-1)).toMatchObject({ type: 'result', outcome: 'done', exitCode: 0, text: 'Hello.' })
    expect(code).toBe(0)
  })

  it('has errors, too', async () => {
    const { run, model } = await openPlace()
    const { flags } = await model(() => ({ status: 400, message: 'no such model' }))
    const { stdout, code } = await run(['run', ...flags, '--output-format', 'json', 'Hi'])
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'failed',
      exitCode: 5,
      error: { code: 'model_request_refused' },
    })
    expect(code).toBe(5)
  })
})

describe('a session', () => {
  it('is stored, and can be resumed', async () => {
    const { run, model } = await openPlace(files)
    const { server, flags } = await model(() => 'Noted.')
    await run(['run', ...flags, 'We sail at nine knots.'])
    await run(['run', ...flags, '--continue', 'How fast?'])
    expect(JSON.stringify(server.requests[1]?.body)).toContain('We sail at nine knots.')
  })

  it('is not stored with --store none', async () => {
    const { run, model } = await openPlace(files)
    const { flags } = await model(() => 'Noted.')
    await run(['run', ...flags, '--store', 'none', 'Hello'])
    expect(await run(['run', ...flags, '--continue', 'And?'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('This directory has no session to resume.'),
    })
  })

  it('stays in its directory, and a note names the permissions that it resumes with', async () => {
    const { run, model, root } = await openPlace({ ...files, 'other/x': '' })
    const { flags } = await model(() => 'Noted.')
    await run(['run', ...flags, '--session', 's', '--mode', 'accept-edits', '--allow', 'bash(ls)', 'Hello'])
    const elsewhere = await run(['run', ...flags, '--session', 's', 'And?'], { cwd: join(root, 'other') })
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining(`belongs to ${root}`) })
    const { stderr } = await run(['run', ...flags, '--session', 's', 'And?'])
    expect(stderr).toContain('resuming s with mode accept-edits; allowed: bash(ls)')
  })
})

describe('invalid arguments', () => {
  it.each([
    [['rnu'], 'Unknown command "rnu".', 'Did you mean "run"?'],
    [['run', '--modle', 'x', 'y'], 'Unknown option "--modle".', 'Did you mean "--model"'],
    [['run', '--allow', 'bash(', 'y'], 'The rule "bash(" is not valid', 'Write a rule as'],
    [['run', '--budget', '5', 'y'], '--budget takes an amount with a unit', '--budget 0.50usd'],
    [['run', '-C', 'nowhere', 'y'], 'cannot be used: it does not exist', undefined],
    [['run', '--config', 'none.acl', 'y'], 'the file does not exist', undefined],
    [['run', '--json', '--output-format', 'json', 'y'], 'cannot be given together', undefined],
    [['run', '--session', 'a', '--continue', 'y'], 'cannot be given together', undefined],
    [['run', '--agent', 'unknown', 'y'], 'unknown', undefined],
    [['serve'], 'Missing argument: AGENT_DIR', 'Usage: capstan serve AGENT_DIR'],
    [['check'], 'Missing argument: AGENT_DIR', 'Usage: capstan check AGENT_DIR'],
    [['program'], 'Missing argument: FILE', 'Usage: capstan program FILE'],
    [['tools', 'call'], 'Missing argument: TOOL', 'Usage: capstan tools call TOOL'],
    [['sessions', 'show'], 'Missing argument: ID', 'capstan sessions list'],
    [['completion'], 'Missing argument: SHELL', 'Usage: capstan completion bash|zsh|fish'],
    [['sessions', 'lsit'], 'Unknown action "lsit".', 'Did you mean "list"?'],
  ])('%j is refused with one line, a hint and exit code 2', async (argv, message, hint) => {
    const { run } = await openPlace()
    const { code, stdout, stderr } = await run(argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    const [first, second] = stderr.split('\n')
    expect(first).toMatch(/^capstan: /)
    expect(first).toContain(message)
    if (hint !== undefined) expect(second).toContain(hint)
    expect(stderr).not.toMatch(/\n\s+at /)
  })
})

function lastUserText(body: unknown): string {
  const { messages } = body as { messages: { role: string; content: string | { text: string }[] }[] }
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('')
}

describe('--goal', () => {
  it('works until the command of --check succeeds, and exits with 3 when a limit comes first', async () => {
    const place = await openPlace()
    const write = { toolCalls: [{ name: 'write', args: { file_path: 'done.txt', content: 'x' } }] }
    const { server, flags } = await place.model(['I am done.', write, 'Now it is there.', 'no', 'no'])
    const goal = ['--goal', 'done.txt exists', '--check', 'test -f done.txt', '--sandbox', 'off']
    const rules = ['--mode', 'accept-edits', '--allow', 'bash(test *)']
    const reached = await place.run([
      'run',
      '--no-stdin',
      '--output-format',
      'json',
      ...flags,
      ...rules,
      ...goal,
    ])
    expect(reached.code).toBe(0)
    expect(JSON.parse(reached.stdout)).toMatchObject({ outcome: 'done', goal: { met: true, checks: 2 } })
    expect(JSON.stringify(server.requests[0]?.body)).toContain('done.txt exists')
    const missed = await place.run([
      ...['run', '--no-stdin', ...flags, ...rules, 'Try it', '--goal', 'other', '--check', 'test -f no'],
      ...['--goal-rounds', '2', '--goal-time', '1h', '--sandbox', 'off'],
    ])
    expect(missed.code).toBe(3)
    expect(missed.stderr).toContain('the goal is not reached (rounds): failed: check-1')
  })

  it('takes a limit of cost in dollars', async () => {
    const place = await openPlace()
    const { server, flags } = await place.model(['no', 'no', 'no'])
    const rules = ['--allow', 'bash(test *)', '--sandbox', 'off']
    const goal = ['run', '--no-stdin', ...flags, ...rules, '--goal', 'It is done', '--check', 'test -f no']
    const tokens = await place.run([...goal, '--goal-cost', '500tokens'])
    expect(tokens.code).toBe(2)
    expect(tokens.stderr).toContain('--goal-cost takes an amount in dollars')
    const limited = await place.run([...goal, '--goal-rounds', '3', '--goal-cost', '0.0000001usd'])
    expect(limited.code).toBe(3)
    expect(limited.stderr).toContain('the goal is not reached (cost): failed: check-1')
    expect(server.requests).toHaveLength(1)
  })

  it('is needed for the options that belong to it', async () => {
    const place = await openPlace()
    const { code, stderr } = await place.run([
      'run',
      '--no-stdin',
      '--model',
      'offline',
      '--check',
      'true',
      'hi',
    ])
    expect(code).toBe(2)
    expect(stderr).toContain('--check needs --goal.')
  })
})
