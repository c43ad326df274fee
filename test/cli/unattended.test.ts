import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { root as packageRoot } from '../house/run.js'
import { type Outcome, openPlace, type Place } from './drive.js'

const main = join(packageRoot, 'dist/cli/main.js')

/** The built command, as a process of its own. */
async function runBuilt(
  { root, env }: Place,
  argv: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const child = spawn(process.execPath, [main, ...argv], {
    cwd: root,
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode ?? -1, stdout, stderr }
}

/** The same in this process, which takes a fraction of the time. */
const runHere: typeof runBuilt = (place, argv, env = {}) => place.run(argv, { env })

const schedule = { 'agents/a/instructions.md': 'Help.', 'agents/a/schedules/daily.md': daily() }

describe('without a configured model', { timeout: 120_000 }, () => {
  it.each([
    ['run', ['run', '--no-stdin', 'Hello'], runBuilt],
    ['run --json', ['run', '--no-stdin', '--json', 'Hello'], runHere],
    ['serve', ['serve', 'agents/a', '--run', 'daily'], runBuilt],
  ])('%s exits with 5 and names what to configure', async (_, argv, run) => {
    const place = await openPlace(schedule)
    const { code, stdout, stderr } = await run(place, argv)
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
    expect(stderr).toContain('No language model is configured.')
    expect(stderr).toMatch(/ANTHROPIC_API_KEY.*--model.*capstan init.*--model offline/s)
  })

  it('the offline model answers if the flag or the variable names it', async () => {
    const place = await openPlace(schedule)
    expect(await runHere(place, ['run', '--no-stdin', '--model', 'offline', 'Hello'])).toMatchObject({
      code: 0,
    })
    const variable = { CAPSTAN_MODEL: 'offline' }
    expect(await runBuilt(place, ['run', '--no-stdin', 'Hello'], variable)).toMatchObject({ code: 0 })
    const served = await runHere(place, ['serve', 'agents/a', '--run', 'daily', '--model', 'offline'])
    expect(served).toMatchObject({ code: 0, stdout: expect.stringContaining('completed') })
  })

  it('the tour works without a key', async () => {
    const { code, stdout } = await runBuilt(await openPlace(), ['tour'])
    expect(code).toBe(0)
    expect(stdout).not.toBe('')
  })
})

describe('with a capstan.acl that came with the directory and is not confirmed', { timeout: 120_000 }, () => {
  it.each([
    ['without any other model', {}],
    ['with a key in the environment', { OPENAI_API_KEY: 'sk-canary' }],
    ['in CI', { CI: 'true' }],
  ])('run and serve exit with 5 and say how to confirm it, %s', async (_, env) => {
    const place = await openPlace(schedule)
    const { server, flags } = await place.model(() => 'Never.')
    const config = await configAt(place, server.url)
    for (const argv of [
      ['run', '--no-stdin', 'Hello'],
      ['serve', 'agents/a', '--run', 'daily'],
    ]) {
      const { code, stdout, stderr } = await runHere(place, argv, env)
      expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
      expect(stderr).toMatch(/capstan\.acl came with this directory and is not used/)
      expect(stderr).toContain('capstan trust --yes')
      expect(stderr).toContain('--config capstan.acl')
    }
    expect(server.requests).toHaveLength(0)
    // Each thing that the error names helps.
    const run = ['run', '--no-stdin', 'Hello']
    expect(await runHere(place, [...run, '--config', config], env)).toMatchObject({ code: 0 })
    expect(await runHere(place, [...run, ...flags], env)).toMatchObject({ code: 0 })
    expect(await runHere(place, [...run, '--model', 'offline'], env)).toMatchObject({ code: 0 })
    expect(await runHere(place, ['trust', '--yes'], env)).toMatchObject({ code: 0 })
    expect(await runHere(place, run, env)).toMatchObject({ code: 0, stdout: 'Never.\n' })
  })

  it('the configuration of the user chooses the model, except in CI', async () => {
    const place = await openPlace()
    const { server } = await place.model(() => 'Mine.')
    await configAt(place, 'http://127.0.0.1:9')
    await writeFile(join(place.home, 'config.acl'), configText(server.url))
    const run = ['run', '--no-stdin', 'Hello']
    expect(await runHere(place, run)).toMatchObject({ code: 0, stdout: 'Mine.\n' })
    expect(await runHere(place, run, { CI: 'false' })).toMatchObject({ code: 0 })
    expect(await runHere(place, run, { CI: '1' })).toMatchObject({ code: 5, stdout: '' })
  })
})

describe('a run whose model fails', { timeout: 120_000 }, () => {
  it('prints the real pause of each retry, and exits with 5 after --retries', async () => {
    const place = await openPlace()
    const { server, flags } = await place.model(() => ({
      status: 429,
      headers: { 'retry-after-ms': '1234' },
    }))
    const outcome = await place.run(['run', ...flags, '--retries', '1', 'Hello'])
    expect(outcome).toMatchObject({ code: 5, stdout: '' })
    expect(outcome.stderr).toContain('retrying the model request in 1.2 s: ')
    expect(server.requests).toHaveLength(2)
    const never = await place.run(['run', ...flags, '--retries', '0', 'Hello'])
    expect(never.stderr).not.toContain('retrying')
    expect(server.requests).toHaveLength(3)
    expect(await place.run(['run', ...flags, '--retries', '-1', 'Hello'])).toMatchObject({ code: 2 })
  })

  it('continues with --fallback-model and prints a note', async () => {
    const place = await openPlace()
    const { server } = await place.model(({ body }) =>
      (body as { model: string }).model === 'b' ? 'Taken over.' : { status: 503 },
    )
    const config = join(place.root, 'two.acl')
    await writeFile(config, configText(server.url))
    const outcome = await place.run([
      ...['run', '--config', config, '--retries', '0', '--fallback-model', 'own/b'],
      'Hello',
    ])
    expect(outcome).toMatchObject({ code: 0, stdout: 'Taken over.\n' })
    expect(outcome.stderr).toContain('own/b takes over from own/a: ')
    expect(await place.run(['run', '--config', config, '--fallback-model', 'no/x', 'Hi'])).toMatchObject({
      code: 2,
    })
  })
})

describe('the report of a run', { timeout: 120_000 }, () => {
  it('has the tokens and the cost of subagents, also when a limit ends it', async () => {
    const place = await openPlace()
    const usage = { inputTokens: 10, outputTokens: 1, totalTokens: 11 }
    const { server, flags } = await place.model(({ body }) => {
      const last = String((body as { messages: { content: unknown }[] }).messages.at(-1)?.content)
      if (last.includes('child work')) return { text: 'done', usage }
      const args = { agent: 'general', description: 'd', prompt: `child work ${server.requests.length}` }
      return { toolCalls: [{ name: 'task', args }], usage }
    })
    const outcome = await place.run([
      ...['run', ...flags, '--output-format', 'json', '--allow', 'task', '--max-rounds', '1'],
      'Delegate',
    ])
    expect(outcome.code).toBe(4)
    const report = JSON.parse(outcome.stdout)
    expect(report).toMatchObject({
      outcome: 'limit',
      error: { code: 'max_tool_rounds' },
      usage: { totalTokens: 3 * 11 },
    })
    expect(report.costUsd).toBeCloseTo((3 * 11) / 1_000_000, 10)
    expect(server.requests).toHaveLength(3)
  })
})

function daily(): string {
  return '---\ncron: "0 9 * * *"\n---\nSay hello.\n'
}

function configText(url: string): string {
  return `default_model = "own/a"\nproviders "own" {\n  base_url = "${url}/v1"\n  models "a" {}\n  models "b" {}\n}\n`
}

async function configAt({ root }: Place, url: string): Promise<string> {
  const path = join(root, 'capstan.acl')
  await writeFile(path, configText(url))
  return path
}
