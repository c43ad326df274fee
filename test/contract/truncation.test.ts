import { describe, expect, it } from 'vitest'
import type { SessionOptions } from '../../src/session/options.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { errorEnvelope } from '../../src/tool/envelope.js'
import type { JsonValue } from '../../src/tool/json.js'
import { calls, openSession, toolResults } from './open-session.js'

const open: SessionOptions = { permissionPolicy: { defaultDecision: 'allow' } }

/** What a model reads of one call. */
async function modelText(
  call: [string, JsonValue],
  options: SessionOptions = {},
  files: Readonly<Record<string, string>> = {},
) {
  const opened = await openSession([calls(call), 'done'], { ...open, ...options }, files)
  await opened.session.send('go')
  return { ...opened, text: toolResults(opened.server, 1)[0] ?? '' }
}

const note = /The output was truncated\. output_path: (\S+) has all of it/

describe('a long output in a request to the model', () => {
  it('says that the output of a command was truncated, and where all of it is', async () => {
    const { text, session } = await modelText([
      'bash',
      { command: 'echo first; yes | head -c 300000; echo last' },
    ])
    const [, path = ''] = note.exec(text) ?? []
    expect(text.startsWith('first\n')).toBe(true)
    const rest = await session.tool('read', { file_path: path, start_byte: 300_000 })
    expect(rest.output).toContain('last')
  })

  it('has all of an output of 204,800 bytes', async () => {
    const { text } = await modelText(['bash', { command: 'yes | head -c 204800' }])
    expect(text).toHaveLength(204_800)
  })

  it('has all lines of a file of 200 KB', async () => {
    const line = 'a line of the file\n'
    const count = Math.floor(204_800 / line.length)
    const { text } = await modelText(['read', { file_path: 'a.txt' }], {}, { 'a.txt': line.repeat(count) })
    expect(text.match(/a line of the file/g)).toHaveLength(count)
    expect(text).not.toContain('truncated')
  })

  it('has all of a long line of a file', async () => {
    const line = '{"key":"value €"},'.repeat(5_000)
    const { text } = await modelText(['read', { file_path: 'a.json' }], {}, { 'a.json': line })
    expect(text).toBe(`     1\t${line}\n`)
  })

  it('says that a file was truncated, and names it', async () => {
    const { text } = await modelText(['read', { file_path: 'a.txt' }], {}, { 'a.txt': '€'.repeat(100_000) })
    expect(note.exec(text)?.[1]).toBe('a.txt')
    expect(text).not.toContain('\uFFFD')
    expect(text).toMatch(/\[cut: 204798 of 300000 bytes; the rest: start_byte=204798 end_byte=300000\]/)
  })

  it.each<[string, () => unknown]>([
    ['a failed call', () => errorEnvelope('x'.repeat(300_000))],
    ['a list of parts', () => [{ type: 'text', text: '😀'.repeat(100_000) }]],
    ['a text', () => `x${'😀'.repeat(100_000)}`],
    ['data', () => ({ list: Array.from({ length: 100_000 }, (_, at) => `entry ${at}`) })],
  ])('says so for %s of any tool', async (_, execute) => {
    const tool = createJsonTool({ name: 'long', description: '', parameters: { type: 'object' }, execute })
    const { text } = await modelText(['long', {}], { tools: [tool] })
    expect(text).toMatch(note)
    expect(text).not.toMatch(/\uFFFD|[\uD800-\uDBFF](?![\uDC00-\uDFFF])/)
  })
})
