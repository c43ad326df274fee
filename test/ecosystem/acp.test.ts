import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isRecord } from '../../src/tool/json.js'
import { builtCommand } from '../acp/process.js'
import { schemaProblems } from '../acp/schema.js'
import { openPlace, type Place } from '../cli/drive.js'
import { installedPackages } from './install.js'

const write = { name: 'write', args: { file_path: 'log.txt', content: 'ahoy\n' } }
const script = [{ text: 'Writing. ', toolCalls: [write] }, 'Written.']

/** Runs acpx, a headless client, with `capstan acp` as its agent. */
function acpx(place: Place, flags: readonly string[], args: readonly string[]): Promise<string> {
  const agent = [process.execPath, builtCommand, 'acp', ...flags]
    .map((part) => JSON.stringify(part))
    .join(' ')
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [
        join(installedPackages, 'acpx/dist/cli.js'),
        ...['--agent', agent, '--cwd', place.root, '--ttl', '1', '--approve-all', ...args],
      ],
      { cwd: place.root, env: { ...place.env, HOME: place.home } },
      (error, stdout, stderr) =>
        error === null ? resolve(stdout) : reject(new Error(`${stdout}\n${stderr}`)),
    )
  })
}

describe('acpx', () => {
  it('runs a prompt, and every message of its transcript fits the official schema', async () => {
    const place = await openPlace()
    const { flags } = await place.model(script)
    const json = ['--format', 'json', '--json-strict']
    const transcript = await acpx(place, flags, [...json, 'exec', 'Write the log.'])
    const messages = transcript
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
      .filter(isRecord)
    const asked = new Map<unknown, string>()
    const problems: string[] = []
    for (const message of messages) {
      const { id, method } = message
      // The client writes its requests and its answers too; the ids of both sides are apart by what they carry.
      if (typeof method === 'string' && !fromAgent.has(method)) asked.set(id, method)
      else if (
        typeof method === 'string' ||
        !isRecord(message['result']) ||
        !('outcome' in message['result'])
      )
        problems.push(...schemaProblems(message, asked.get(id)))
    }
    expect(problems).toEqual([])
    expect(messages.length).toBeGreaterThan(15)
    expect(messages.at(-1)).toMatchObject({ result: { stopReason: 'end_turn' } })
    await expect(readFile(join(place.root, 'log.txt'), 'utf8')).resolves.toBe('ahoy\n')
  })

  it('opens a session, sets its mode, lists and closes it, each in its own process', async () => {
    const place = await openPlace()
    const { flags } = await place.model(script)
    const id = (await acpx(place, flags, ['sessions', 'new'])).trim().split('\n').at(-1)
    expect(await acpx(place, flags, ['set-mode', 'plan'])).toContain('plan')
    expect(await acpx(place, flags, ['sessions', 'show'])).toContain(id)
    expect(await acpx(place, flags, ['sessions', 'close'])).toContain(id)
  })
})

describe('@mcpc-tech/acp-ai-provider', () => {
  it('streams an answer through the AI SDK', async () => {
    const place = await openPlace({ 'a.txt': 'fair wind\n' })
    const read = { name: 'read', args: { file_path: 'a.txt' } }
    const { flags } = await place.model([{ text: 'Looking. ', toolCalls: [read] }, 'Fair wind.'])
    const load = (path: string): Promise<Record<string, unknown>> =>
      import(pathToFileURL(join(installedPackages, path)).href)
    const [{ createACPProvider }, { streamText }] = await Promise.all([
      load('@mcpc-tech/acp-ai-provider/index.mjs'),
      load('ai-6/dist/index.mjs'),
    ])
    if (typeof createACPProvider !== 'function' || typeof streamText !== 'function')
      throw new Error('The packages have other names.')
    const provider = createACPProvider({
      command: process.execPath,
      args: [builtCommand, 'acp', ...flags],
      env: place.env,
      session: { cwd: place.root, mcpServers: [] },
    })
    onTestFinished(() => provider.cleanup())
    const { textStream } = streamText({
      model: provider.languageModel(),
      prompt: 'How is the wind?',
      tools: provider.tools,
    })
    let text = ''
    for await (const piece of textStream) text += piece
    expect(text).toBe('Looking. Fair wind.')
  })
})

/** What an agent sends that has a method. */
const fromAgent = new Set(['session/update', 'session/request_permission'])
