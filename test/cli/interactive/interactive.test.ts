import { readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { overlappingTests } from '../../support/overlapping-tests.js'
import { openPlace } from '../drive.js'
import { keys, sitDown } from './virtual-terminal.js'

/** Only shown while a question takes keys. */
const ready = 'no, with a'
const edit = { name: 'edit', args: { file_path: 'a.txt', old_string: 'nine', new_string: 'twelve' } }

describe('an interactive session', () => {
  const it = overlappingTests()

  it('streams an answer with its markdown, and shows its cost', async () => {
    const place = await openPlace()
    const { flags } = await place.model(() => ({
      text: '# Title\n\nSome **bold** words.\n\n- one\n- two\n\n```js\nconst a = 1\n```\n',
      usage: { inputTokens: 1_000, outputTokens: 200 },
    }))
    const person = sitDown(place, flags)
    await person.sees('test/m · default')
    person.press(`Tell me${keys.enter}`)
    await person.sees('1 round · 0 calls · 1,200 tokens · $0.0012')
    expect(person.screen()).toContain(
      '› Tell me\n\nTitle\n\nSome bold words.\n\n• one\n• two\n\n  js\n  const a = 1',
    )
    expect(person.raw()).toContain('\u001b[1mbold\u001b[22m')
    person.press(keys.ctrlD)
    expect(await person.left).toBe(0)
    expect(person.screen()).toMatch(/to resume: capstan --session [\w-]+/)
    expect(person.isRaw()).toBe(false)
  })

  const decisions = [
    { key: 'y', becomes: 'twelve\n', shows: '→ yes, once' },
    { key: 's', becomes: 'twelve\n', shows: '→ yes, in this session: edit(a.txt)' },
    { key: 'a', becomes: 'twelve\n', shows: '→ yes, always in this project: edit(a.txt)' },
    { key: 'n', becomes: 'nine\n', shows: '→ no' },
    { key: '\u001b', becomes: 'nine\n', shows: '→ no' },
    { key: keys.down + keys.enter, becomes: 'twelve\n', shows: '→ yes, once' },
  ]
  for (const { key, becomes, shows } of decisions)
    it(`shows what an edit would change and waits for a decision: ${JSON.stringify(key)}`, async () => {
      const place = await openPlace({ 'a.txt': 'nine\n' })
      const { flags } = await place.model([{ toolCalls: [edit] }, 'Done.'])
      const person = sitDown(place, flags)
      person.press(`Go${keys.enter}`)
      await person.sees(ready)
      expect(person.screen()).toContain('  -nine\n  +twelve')
      expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('nine\n')
      person.press(keys.enter)
      person.press(key)
      await person.sees('Done.')
      expect(person.screen()).toContain(shows)
      expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe(becomes)
      person.press(keys.ctrlD)
      await person.left
    })

  it('prints a link to the inspector, also after it could not start, and leaves without errors', async () => {
    const place = await openPlace()
    const { flags } = await place.model(['Done.'])
    const person = sitDown(place, flags)
    await person.sees('test/m · default')
    // The server of the inspector looks for the workspace when it starts.
    renameSync(place.root, `${place.root}-moved`)
    person.press(`/inspect${keys.enter}`)
    await person.sees('ENOENT')
    renameSync(`${place.root}-moved`, place.root)
    person.press(`/inspect${keys.enter}`)
    await person.sees('http://127.0.0.1:')
    person.press(keys.ctrlD)
    expect(await person.left).toBe(0)
  })

  it('sends the reason of a rejection to the model', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    const { server, flags } = await place.model([{ toolCalls: [edit] }, 'I see.'])
    const person = sitDown(place, flags)
    person.press(`Go${keys.enter}`)
    await person.sees(ready)
    person.press('m')
    await person.sees('What should it do instead?')
    person.press(`use 十三 🚢 knots${keys.enter}`)
    await person.sees('I see.')
    expect(JSON.stringify((await server.request(1)).body)).toContain('rejected this call: use 十三 🚢 knots')
    person.press(keys.ctrlD)
    await person.left
  })

  it('does not ask again after an approval for the session', async () => {
    const place = await openPlace({ 'a.txt': 'nine nine\n' })
    const again = { ...edit, args: { ...edit.args, replace_all: true } }
    const { flags } = await place.model([
      { toolCalls: [again] },
      { toolCalls: [{ ...again, args: { ...again.args, old_string: 'twelve', new_string: 'ten' } }] },
      'Done.',
    ])
    const person = sitDown(place, flags)
    person.press(`Go${keys.enter}`)
    await person.sees(ready)
    person.press('s')
    await person.sees('Done.')
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('ten ten\n')
    person.press(keys.ctrlD)
    await person.left
  })

  it('asks the questions of the model', async () => {
    const place = await openPlace()
    const questions = [
      {
        question: 'Which colour?',
        options: [{ label: 'red' }, { label: 'blue', description: 'like the sea' }],
      },
      { question: 'Which sizes?', options: [{ label: 'small' }, { label: 'large' }], multi_select: true },
    ]
    const { server, flags } = await place.model([
      { toolCalls: [{ name: 'question', args: { questions } }] },
      'Thanks.',
    ])
    const person = sitDown(place, flags)
    person.press(`Ask me${keys.enter}`)
    await person.sees('blue: like the sea')
    person.press('2')
    await person.sees('Numbers separated by commas')
    person.press(`1, 2${keys.enter}`)
    await person.sees('Thanks.')
    const { body } = await server.request(1)
    expect(JSON.stringify(body)).toMatch(/blue.*small.*large/)
    person.press(keys.ctrlD)
    await person.left
  })

  it('is cancelled by Ctrl-C, and ended by a second one', async () => {
    const place = await openPlace()
    const { flags } = await place.model([{ text: 'Well', stall: 1 }, 'Never.'])
    const person = sitDown(place, flags)
    person.press(`Go${keys.enter}`)
    await person.sees('thinking')
    person.press(keys.ctrlC)
    await person.sees('cancelled')
    await person.sees(/› *\n/)
    person.press(keys.ctrlC)
    expect(await person.left).toBe(130)
    expect(person.isRaw()).toBe(false)
    expect(person.raw().endsWith('\u001b[?2004l') || person.raw().includes('to resume')).toBe(true)
  })

  it('rejects the open question when the run is cancelled', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    const { flags } = await place.model([{ toolCalls: [edit] }, 'Never.'])
    const person = sitDown(place, flags)
    person.press(`Go${keys.enter}`)
    await person.sees(ready)
    person.press(keys.ctrlC)
    await person.sees('cancelled')
    expect(person.screen()).not.toContain(ready)
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('nine\n')
    person.press(keys.ctrlD)
    expect(await person.left).toBe(0)
  })

  it('does not take typed text as an answer', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    const { promise, resolve: go } = later()
    const { flags } = await place.model((_, n) =>
      n > 0 ? 'Done.' : promise.then(() => ({ toolCalls: [edit] })),
    )
    const person = sitDown(place, flags)
    person.press(`Go${keys.enter}`)
    await person.sees('thinking')
    person.press('try ')
    await person.sees('› try')
    go()
    await person.sees('Edit "a.txt"?')
    person.press('yes')
    await person.sees('› try yes')
    await person.sees('press Tab to answer the question')
    expect(person.screen()).not.toContain(ready)
    // Only Tab moves the keys to the question.
    person.press(keys.tab)
    await person.sees(ready)
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('nine\n')
    person.press(keys.ctrlC)
    await person.sees('cancelled')
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('nine\n')
    person.press(keys.ctrlC)
    await person.left
  })

  it('sends a prompt that is typed during a run to the run', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    const { promise, resolve: go } = later()
    const { server, flags } = await place.model((_, n) =>
      n > 0
        ? 'I read both.'
        : promise.then(() => ({ toolCalls: [{ name: 'read', args: { file_path: 'a.txt' } }] })),
    )
    const person = sitDown(place, flags)
    person.press(`Go${keys.enter}`)
    await person.sees('thinking')
    person.press(`and look at b${keys.enter}`)
    await person.sees('(sent to the current run)')
    go()
    await person.sees('I read both.')
    expect(JSON.stringify((await server.request(1)).body)).toContain('and look at b')
    person.press(keys.ctrlD)
    await person.left
  })

  it('edits several lines, accepts a paste unchanged, and saves the history', async () => {
    const place = await openPlace()
    const { server, flags } = await place.model(() => 'Read.')
    const person = sitDown(place, flags)
    person.press(`one\\${keys.enter}two${keys.newLine}three ${keys.paste('four\r\nfive\u001b[31m')}`)
    await person.sees('five')
    expect(server.requests).toHaveLength(0)
    person.press(keys.enter)
    await person.sees('1 round')
    expect(JSON.stringify((await server.request(0)).body)).toContain('one\\ntwo\\nthree four\\nfive[31m')
    person.press(keys.up)
    await person.sees('› one', 2)
    person.press(keys.ctrlC)
    person.press(keys.ctrlD)
    await person.left
    const history = join(place.home, 'history')
    expect(readFileSync(history, 'utf8')).toContain('one\\ntwo\\nthree')
    if (process.platform !== 'win32') expect(statSync(history).mode & 0o777).toBe(0o600)
    const later = sitDown(place, flags)
    await later.sees('test/m')
    later.press(keys.up)
    await later.sees('› one')
    later.press(keys.ctrlC + keys.ctrlD)
    await later.left
  })

  it('completes commands, changes the mode, and lists commands and keys', async () => {
    const place = await openPlace()
    const person = sitDown(place, ['--model', 'offline'])
    await person.sees('offline/rules · default')
    person.press('/mo')
    await person.sees('Show or change the model')
    person.press(`de p${keys.tab}${keys.enter}`)
    await person.sees('offline/rules · plan')
    person.press(keys.shiftTab)
    await person.sees('offline/rules · default')
    person.press(`/help${keys.enter}`)
    await person.sees('/rewind [number]')
    person.press(`/nonsense${keys.enter}`)
    await person.sees('Unknown command: /nonsense')
    person.press(`/quit${keys.enter}`)
    expect(await person.left).toBe(0)
  })

  it('rewinds to a prompt, restores files, and resumes another session', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    const { flags } = await place.model((_, n) => (n === 0 ? { toolCalls: [edit] } : 'Done.'))
    const first = sitDown(place, [...flags, '--mode', 'accept-edits'])
    first.press(`Make it so${keys.enter}`)
    await first.sees('Done.')
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('twelve\n')
    first.press(`/undo${keys.enter}`)
    await first.sees('restored: a.txt')
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('nine\n')
    first.press(`/rewind 1${keys.enter}`)
    await first.sees('messages are hidden')
    await first.sees('› Make it so', 2)
    first.press(keys.ctrlC)
    first.press(`Something else${keys.enter}`)
    await first.sees('Done.', 2)
    first.press(keys.ctrlD)
    await first.left
    const second = sitDown(place, flags)
    await second.sees('test/m · default')
    second.press(`/sessions${keys.enter}`)
    await second.sees(/1 {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}(Make it so|Something else) {2}\([\da-f]{8}\)/)
    second.press(`/resume 1${keys.enter}`)
    await second.sees('resuming a session')
    await second.sees('› Something else')
    // The log does not restore a mode that allows more than the current options.
    expect(second.screen()).not.toContain('test/m · accept-edits')
    second.press(keys.ctrlD)
    await second.left
    const third = sitDown(place, [...flags, '--mode', 'plan'])
    third.press(`Look${keys.enter}`)
    await third.sees('Done.')
    third.press(keys.ctrlD)
    await third.left
    const fourth = sitDown(place, flags)
    await fourth.sees('test/m · default')
    fourth.press(`/resume 1${keys.enter}`)
    await fourth.sees('test/m · plan')
    fourth.press(keys.ctrlD)
    await fourth.left
  })

  it('shows the diff of an edit that needed no question, all changes, and the result of an undo', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    const same = { name: 'write', args: { file_path: 'a.txt', content: 'twelve\n' } }
    const long = { name: 'write', args: { file_path: 'b.txt', content: 'line\n'.repeat(100) } }
    const { flags } = await place.model((_, n) =>
      n === 0 ? { toolCalls: [edit, long] } : n === 2 ? { toolCalls: [same] } : 'Done.',
    )
    const person = sitDown(place, [...flags, '--mode', 'accept-edits'])
    person.press(`Make it so${keys.enter}`)
    await person.sees('Done.')
    expect(person.screen()).toContain('    a.txt\n    @@ -1,1 +1,1 @@\n    -nine\n    +twelve\n')
    expect(person.screen()).toMatch(/⟨\d+ more lines: type \/changes⟩/)
    person.press(`Again${keys.enter}`)
    await person.sees('Done.', 2)
    person.press(`/changes${keys.enter}`)
    await person.sees('modified a.txt (+1 -1)\n@@ -1,1 +1,1 @@\n-nine\n+twelve')
    expect(person.screen()).toContain('created b.txt (+100 -0)')
    person.press(`/changes all${keys.enter}`)
    await person.sees('q: close')
    person.press('G')
    await person.sees(/of 10\d · q: close/)
    person.press('q')
    await person.sees('› /changes all')
    person.press(`/undo${keys.enter}`)
    await person.sees('Undid the run "Make it so": 2 files restored.')
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('nine\n')
    person.press(`/undo${keys.enter}`)
    await person.sees('There is nothing to undo')
    person.press(keys.ctrlD)
    await person.left
  })

  it('does not show a diff again that was part of a question', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    const { flags } = await place.model([{ toolCalls: [edit] }, 'Done.'])
    const person = sitDown(place, flags)
    person.press(`Go${keys.enter}`)
    await person.sees(ready)
    person.press('y')
    await person.sees('Done.')
    expect(person.screen().match(/\+twelve/g)).toHaveLength(1)
    person.press(keys.ctrlD)
    await person.left
  })

  it('changes the model and preserves the messages', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    const { flags } = await place.model(() => 'From the server.')
    const person = sitDown(place, flags)
    person.press(`Hello${keys.enter}`)
    await person.sees('From the server.')
    person.press(`/model unknown/model${keys.enter}`)
    await person.sees('Unknown model "unknown/model"')
    person.press(`/model offline${keys.enter}`)
    await person.sees('model: offline/rules (was test/m)')
    person.press(`Read a.txt${keys.enter}`)
    await person.sees('a.txt says')
    person.press(`/history${keys.enter}`)
    await person.sees('Messages: 6')
    person.press(keys.ctrlD)
    await person.left
  })

  it('offers the models that can be used with their prices, and changes to the chosen one', async () => {
    const place = await openPlace()
    const { flags } = await place.model(() => 'Hello.')
    const person = sitDown(place, flags)
    person.press(`/model${keys.enter}`)
    await person.sees('Which model? (now test/m)')
    expect(person.screen()).toContain('test/m  $1 / 1 per 1M')
    person.press('2')
    await person.sees('model: offline/rules (was test/m)')
    person.press(keys.ctrlD)
    await person.left
  })

  it('escapes control sequences from every source', async () => {
    const evil = '\u001b[2J\u001b]0;owned\u0007\u001b]52;c;aGk=\u0007\u009b31m\b\b\u202etxt.exe\r'
    const place = await openPlace({ 'evil.txt': `${evil}\n` })
    const { flags } = await place.model([
      {
        text: `Look: ${evil} **${evil}** \`${evil}\` [link ${evil}](https://x.example/${encodeURIComponent('\u001b')})`,
      },
      { toolCalls: [{ name: 'bash', args: { command: `printf '${evil.replaceAll('\r', '')}'` } }] },
      'Done.',
    ])
    const person = sitDown(place, [...flags, '--sandbox', 'off'])
    person.press(`Go${keys.enter}`)
    await person.sees('1 round')
    person.press(`Again${keys.enter}`)
    await person.sees(ready)
    person.press('y')
    await person.sees('Done.')
    // The virtual terminal throws for unexpected sequences; these are escaped.
    expect(person.screen()).toContain('\\x1b[2J\\x1b]0;owned\\x07')
    for (const sign of ['\u202e', '\u009b', '\u0007', '\b']) expect(person.raw()).not.toContain(sign)
    person.press(keys.ctrlD)
    await person.left
  })

  for (const columns of [28, 44, 120])
    it(`fits into ${columns} columns, also with wide characters`, async () => {
      const place = await openPlace({ 'a.txt': 'nine\n' })
      const text =
        '船は十二ノットで進む。🚢 The ship sails at twelve knots, says everybody who knows.\n\n| 名前 | value |\n|---|---|\n| 速度 | twelve knots |\n'
      const { flags } = await place.model([{ toolCalls: [edit] }, { text, deltas: 3 }])
      const person = sitDown(place, flags, { columns })
      person.press(`船の速度は？${keys.left}${keys.left}${keys.backspace}${keys.enter}`)
      await person.sees(ready)
      // The rule that the user can approve is shown in full.
      expect(person.screen()).toMatch(
        columns < 60 ? /"s" and "a" add the rule:\n {4}edit\(a\.txt\)\n/ : /project: edit\(a\.txt\)\n/,
      )
      person.press('y')
      await person.sees(/\d rounds/)
      expect(person.screen()).not.toContain('\n\n\n')
      expect(person.screen()).toContain('› 船の速は？')
      // The terminal had to break no line: the command breaks lines, at spaces.
      expect(person.screen().replaceAll('\n', ' ').replaceAll(/ +/g, ' ')).toContain(
        'The ship sails at twelve knots, says everybody who knows.',
      )
      expect(person.screen().match(/no, with a reason|› 船/g)).toEqual(['› 船'])
      person.press(keys.ctrlD)
      await person.left
    })

  it('redraws when the size of the terminal changes', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    const { flags } = await place.model([{ toolCalls: [edit] }, 'Done with all of it.'])
    const person = sitDown(place, flags, { columns: 100 })
    person.press(`Go${keys.enter}`)
    await person.sees(ready)
    for (const columns of [60, 33, 21, 90]) {
      person.resize(columns)
      await person.painted()
      expect(
        person.screen().match(/Edit "a\.txt"\?/g),
        `${columns} columns\n${person.screen()}`,
      ).toHaveLength(1)
      expect(person.screen().match(/no, with/g)).toHaveLength(1)
      expect(person.screen().match(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] edit/g), person.screen()).toHaveLength(1)
    }
    person.press('n')
    await person.sees('Done with all of it.')
    person.press(keys.ctrlD)
    await person.left
  })

  it('ends at a signal, and restores the terminal', async () => {
    const place = await openPlace()
    const { flags } = await place.model([{ text: 'Well', stall: 1 }])
    const stopping = new AbortController()
    const person = sitDown(place, flags, { signal: stopping.signal })
    person.press(`Go${keys.enter}`)
    await person.sees('thinking')
    stopping.abort('SIGTERM')
    expect(await person.left).toBe(143)
    expect(person.isRaw()).toBe(false)
  })

  it('reports invalid options like any other command', async () => {
    const place = await openPlace()
    const person = sitDown(place, ['--model', 'unknown/model'])
    expect(await person.left).toBe(2)
    expect(person.screen()).toContain('capstan: Unknown model "unknown/model".')
    expect(person.isRaw()).toBe(false)
  })
})

describe('without a terminal', () => {
  it('reads one prompt per line, asks no questions, and reports refused calls', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    const { server, flags } = await place.model([{ toolCalls: [edit] }, 'I could not.', 'Second.'])
    const { code, stdout, stderr } = await place.run(['chat', ...flags], { stdin: 'Go\non\\\nboth\n' })
    expect({ code, stdout }).toMatchObject({ code: 3, stdout: expect.stringContaining('I could not.') })
    expect(stdout).toContain('Second.')
    expect(stdout).not.toContain('\u001b')
    expect(stderr).toContain("--allow 'edit(a.txt)'")
    expect(JSON.stringify((await server.request(2)).body)).toContain('on\\nboth')
  })

  it('asks line by line if the input is a terminal and the output is not', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    const { flags } = await place.model([{ toolCalls: [edit] }, 'Done.'])
    const { code, stdout } = await place.run(['chat', ...flags], {
      stdin: 'Go\n',
      replies: [{ to: 'Edit "a.txt"?', say: 'y\n' }],
      until: 'Done.',
      isTTY: { stdin: true },
    })
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('→ yes, once') })
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('twelve\n')
  })
})

describe('lines typed before a question', () => {
  it('are prompts, never its answer', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    const { server, flags } = await place.model([{ toolCalls: [edit] }, 'First.', 'Second.'])
    const { stdout } = await place.run(['chat', ...flags], {
      stdin: 'Go\ny\n',
      replies: [{ to: 'Edit "a.txt"?', say: 'n\n' }],
      until: 'Second.',
      isTTY: { stdin: true },
    })
    expect(stdout).toContain('→ no')
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('nine\n')
    expect(JSON.stringify((await server.request(2)).body)).toMatch(/"(text|content)":"y"/)
  })
})

function later(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
