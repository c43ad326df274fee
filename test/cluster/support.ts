import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { RunClient } from '../../src/cluster/run-client.js'
import { PostgresRunQueue, PostgresSessionStore } from '../../src/postgres/index.js'
import type { RunEvent } from '../../src/session/run-events.js'
import { startModelServer } from '../../src/testing/index.js'
import { root } from '../house/run.js'
import { createUserDirectory } from '../support/compile-cache.js'
import { postgresSchema } from '../support/postgres.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

export const minutes = 60_000
const clusterKey = 'the key of the cluster in this test, 32 bytes'
/** The parts of a chat request that the model of these tests looks at. */
type Chat = { readonly messages: readonly { readonly role: string; readonly content: unknown }[] }

const question = {
  toolCalls: [
    {
      id: 'call-ask',
      name: 'question',
      args: { questions: [{ question: 'Which sea?', options: [{ label: 'North' }, { label: 'Baltic' }] }] },
    },
  ],
}

export type ClusterOptions = {
  /** How long the model takes for an answer. */
  readonly thinkMs?: number | undefined
}

/**
 * A cluster whose model makes as many calls as the prompt says: `NAME x3` appends `NAME-1` to `NAME-3` to a file. The
 * model asks the user about the prompt `NAME asks`, and repeats the answer.
 */
export async function cluster(options: ClusterOptions = {}) {
  const { url, schema } = await postgresSchema()
  const base = realpathSync(temporaryDirectory())
  const work = join(base, 'work')
  mkdirSync(work)
  createUserDirectory(join(base, '.capstan'))
  const ledger = join(work, 'ledger.txt')
  writeFileSync(ledger, '')
  /** When the model was asked about each run. */
  const asked: { readonly name: string; readonly atMs: number }[] = []
  const bodies: string[] = []
  const models = await startModelServer(async (request) => {
    const { messages } = request.body as unknown as Chat
    const prompt = JSON.stringify(messages.find(({ role }) => role === 'user')?.content ?? '')
    const [, name = 'none', count = '0'] = /([\w-]+) x(\d+)/.exec(prompt) ?? []
    asked.push({ name, atMs: Date.now() })
    bodies.push(JSON.stringify(messages))
    // A long form has many.
    if (bodies.length > 100) bodies.shift()
    if (options.thinkMs !== undefined) await wait(options.thinkMs)
    const results = messages.filter(({ role }) => role === 'tool')
    if (prompt.includes(' asks'))
      return results.length === 0 ? question : `The answer is ${JSON.stringify(results[0]?.content)}.`
    const made = results.length
    if (made >= Number(count)) return `${name} is done after ${made} calls.`
    const id = `${name}-${made + 1}`
    const command = `echo ${id} >> ledger.txt`
    return { text: `Call ${id}. `, toolCalls: [{ id, name: 'bash', args: { command } }] }
  })
  onTestFinished(() => models.close())
  const store = new PostgresSessionStore({ url, schema })
  const queue = new PostgresRunQueue({ url, schema })
  onTestFinished(async () => {
    await Promise.all([store.close(), queue.close()])
  })
  const here: Place = { under: [], databaseUrl: url, modelUrl: models.url }
  const command = (args: readonly string[], { under, databaseUrl, env }: Place = here): ChildProcess => {
    const [program = '', ...words] = [...under, process.execPath, join(root, 'dist/cli/main.js'), ...args]
    return spawn(program, [...words, '--schema', schema], {
      cwd: work,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: base,
        CAPSTAN_LOCAL_MODELS: '',
        ...clientEnv(databaseUrl),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }
  const workerAt = (place: Place, ...args: readonly string[]): Promise<WorkerProcess> => {
    const config = join(base, `${encodeURIComponent(place.modelUrl)}.acl`)
    const provider = `base_url = "${place.modelUrl}/v1" api_key = "key-of-the-test" models "test" {}`
    writeFileSync(config, `default_model = "local/test"\nproviders "local" { ${provider} }\n`)
    const options = ['--config', config, '--workspace', `main=${work}`, '--sandbox', 'off', ...args]
    return started(command(['worker', '--json', ...options], place))
  }
  const worker = (...args: readonly string[]): Promise<WorkerProcess> => workerAt(here, ...args)
  const client = new RunClient({ store, queue, clusterKey })
  return {
    ...{ url, schema, store, queue, client, worker, workerAt, command, asked, work, here },
    modelUrl: models.url,
    lines: () => linesOf(ledger),
    /** The messages of the last requests to the model, as JSON. */
    bodies: () => bodies,
  }
}

/** The environment of a command that uses a cluster. */
export function clientEnv(databaseUrl: string): Readonly<Record<string, string>> {
  return { CAPSTAN_DATABASE_URL: databaseUrl, CAPSTAN_CLUSTER_KEY: clusterKey }
}

/** Where a process runs, and how it reaches the others. */
export type Place = {
  /** The command that starts it, with its arguments in front. */
  readonly under: readonly string[]
  readonly databaseUrl: string
  readonly modelUrl: string
  /** More of the environment. */
  readonly env?: Readonly<Record<string, string>> | undefined
}

export type WorkerProcess = {
  readonly nodeId: string
  readonly child: ChildProcess
  readonly ended: Promise<number | string>
}

/** Resolves when the worker has joined the cluster. */
export async function started(child: ChildProcess): Promise<WorkerProcess> {
  let stderr = ''
  child.stderr?.on('data', (data) => {
    stderr += String(data)
  })
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const { stdout } = child
  if (stdout === null) throw new Error('the worker has no standard output')
  const nodeId = await new Promise<string>((resolve, reject) => {
    createInterface({ input: stdout }).once('line', (line) => resolve(String(JSON.parse(line).nodeId)))
    void ended.then((how) => reject(new Error(`The worker ended with ${how}: ${stderr}`)))
  })
  return { nodeId, child, ended }
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').filter(Boolean)
}

export async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const all: RunEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

/** What a command printed, and how it ended. */
export type Printed = { readonly code: number; readonly text: string; readonly errors: string }

export async function output(child: ChildProcess): Promise<Printed> {
  let text = ''
  let errors = ''
  child.stdout?.on('data', (data) => {
    text += String(data)
  })
  child.stderr?.on('data', (data) => {
    errors += String(data)
  })
  const code = await new Promise<number>((resolve) => {
    child.on('close', (exit) => resolve(exit ?? -1))
  })
  return { code, text, errors }
}
