import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { onTestFinished } from 'vitest'
import { runCli } from '../../src/cli/run-cli.js'
import {
  type ModelScript,
  type ModelServer,
  type ServedRequest,
  type ServedStep,
  startModelServer,
} from '../../src/testing/index.js'
import { createUserDirectory } from '../support/compile-cache.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

export type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string }
export type DriveOptions = {
  /** What is piped in; absent: nothing is, and it has ended. */
  readonly stdin?: string
  /** Standard input stays open until what was put out holds this. */
  readonly until?: string
  /** What is typed once the output holds a text, in this order. */
  readonly replies?: readonly { readonly to: string; readonly say: string }[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly signal?: AbortSignal
  /** It is stopped as by SIGTERM once the output holds this. */
  readonly stopAfter?: string
  readonly isTTY?: { readonly stdin?: boolean; readonly stdout?: boolean; readonly stderr?: boolean }
}

/** A directory to work in, a home of its own, and the command in this process. All of it is gone after the test. */
export type Place = {
  readonly root: string
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  run(argv: readonly string[], options?: DriveOptions): Promise<Outcome>
  /** A model server that answers from a script, and the flags that make the command ask it. */
  model(script: ModelScript<ServedRequest, ServedStep>): Promise<{ server: ModelServer; flags: string[] }>
}

export async function openPlace(files: Readonly<Record<string, string>> = {}): Promise<Place> {
  const base = temporaryDirectory()
  const [root, home] = [join(base, 'work'), join(base, 'home')]
  await mkdir(root)
  createUserDirectory(home)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  const env = { CAPSTAN_HOME: home, CAPSTAN_LOCAL_MODELS: 'off', PATH: process.env['PATH'] ?? '' }
  return {
    root,
    home,
    env,
    run: (argv, options = {}) => drive(argv, { cwd: root, ...options, env: { ...env, ...options.env } }),
    async model(script) {
      const server = await startModelServer(script)
      onTestFinished(() => server.close())
      const config = join(base, `model-${new URL(server.url).port}.acl`)
      await writeFile(
        config,
        `default_model = "test/m"\nproviders "test" {\n  base_url = "${server.url}/v1"\n  models "m" { cost = { input = 1, output = 1 } }\n}\n`,
      )
      return { server, flags: ['--config', config] }
    },
  }
}

async function drive(argv: readonly string[], options: DriveOptions): Promise<Outcome> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const { until, stopAfter } = options
  const stopping = new AbortController()
  if (until === undefined) stdin.end(options.stdin ?? '')
  else stdin.write(options.stdin ?? '')
  const replies = [...(options.replies ?? [])]
  const out = collect(stdout, (text) => {
    for (let [reply] = replies; reply !== undefined && text.includes(reply.to); [reply] = replies) {
      replies.shift()
      stdin.write(reply.say)
    }
    if (until !== undefined && text.includes(until)) stdin.end()
    if (stopAfter !== undefined && text.includes(stopAfter)) stopping.abort('SIGTERM')
  })
  const err = collect(stderr)
  const { stdin: inTTY = false, stdout: outTTY = false, stderr: errTTY = false } = options.isTTY ?? {}
  const code = await runCli(argv, {
    stdin,
    stdout,
    stderr,
    env: options.env ?? {},
    cwd: options.cwd ?? '/',
    isTTY: { stdin: inTTY, stdout: outTTY, stderr: errTTY },
    columns: () => 80,
    signal: options.signal ?? stopping.signal,
  })
  stdout.end()
  stderr.end()
  return { code, stdout: await out, stderr: await err }
}

async function collect(stream: PassThrough, onText?: (text: string) => void): Promise<string> {
  let text = ''
  for await (const piece of stream.setEncoding('utf8')) {
    text += piece
    onText?.(text)
  }
  return text
}
