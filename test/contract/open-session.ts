import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { AgentEvent } from '../../src/loop/events.js'
import type { EventStream } from '../../src/session/event-stream.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import {
  type ModelScript,
  type ModelServer,
  type ServedRequest,
  type ServedStep,
  startModelServer,
} from '../../src/testing/index.js'
import type { JsonValue } from '../../src/tool/json.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

export type Script = ModelScript<ServedRequest, ServedStep>

/** A session over HTTP, with everything around it. What a test opens is gone after it. */
export type Opened = {
  readonly server: ModelServer
  readonly agent: Agent
  readonly session: Session
  readonly root: string
  readonly userDir: string
}

/** An agent on a model server that answers from the script, and a session on a workspace with these files. */
export async function openSession(
  script: Script,
  options: SessionOptions & Readonly<Record<string, unknown>> = {},
  files: Readonly<Record<string, string>> = {},
): Promise<Opened> {
  const { root, userDir } = await makeWorkspace(files)
  const { server, agent } = await openAgent(script, userDir)
  const session = agent.session(root, { sandbox: 'off', ...options })
  return { server, agent, session, root, userDir }
}

export async function openAgent(
  script: Script,
  userDir: string,
): Promise<{ readonly server: ModelServer; readonly agent: Agent }> {
  const server = await openServer(script)
  const agent = await Agent.create(configFor(`${server.url}/v1`), { userDir, env: {} })
  onTestFinished(() => agent.close())
  return { server, agent }
}

export async function openServer(script: Script): Promise<ModelServer> {
  const server = await startModelServer(script)
  onTestFinished(() => server.close())
  return server
}

/** Closes the agent when the test is over. */
export function whenDone(close: () => Promise<unknown>): void {
  onTestFinished(async () => void (await close()))
}

export function configFor(baseUrl: string): string {
  return `
    default_model = "openai/docs-model"
    providers "openai" {
      api_key  = "test-key"
      base_url = "${baseUrl}"
      models "docs-model" {}
      models "docs-alt" {}
    }
  `
}

/** A directory with files and an empty directory of the user next to it. */
export async function makeWorkspace(
  files: Readonly<Record<string, string>> = {},
): Promise<{ readonly base: string; readonly root: string; readonly userDir: string }> {
  const base = temporaryDirectory()
  const root = join(base, 'workspace')
  const userDir = join(base, 'user')
  await mkdir(root)
  await mkdir(userDir)
  await writeFiles(root, files)
  return { base, root, userDir }
}

export async function writeFiles(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
}

/** Commits everything in a directory. One shell starts git: starting a process from a test costs more than git does. */
export function makeRepository(root: string): void {
  const git = 'git -c user.name=t -c user.email=t@example.test'
  const commit = `${git} commit -q -m 'first commit' --allow-empty`
  execFileSync('sh', ['-c', `git init -q -b main && git add -A && ${commit}`], { cwd: root })
}

/**
 * The variables of commands that find an `npm` which does nothing, in this directory: starting npm takes as long as all
 * other commands of most tests. For tests of what is decided about a command.
 */
export function idleNpm(directory: string): Readonly<Record<string, string>> {
  writeFileSync(join(directory, 'npm'), '#!/bin/sh\necho idle npm\n', { mode: 0o755 })
  return { PATH: `${directory}:/usr/local/bin:/usr/bin:/bin` }
}

/** A step in which the model calls these tools. */
export function calls(...toolCalls: readonly [name: string, args: JsonValue, id?: string][]): ServedStep {
  return {
    toolCalls: toolCalls.map(([name, args, id]) => ({ name, args, ...(id !== undefined && { id }) })),
  }
}

export function bash(command: string): ServedStep {
  return calls(['bash', { command }])
}

export type ChatMessage = {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[]
  readonly tool_call_id?: string
}
export type ChatBody = {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
  readonly tool_choice?: unknown
}

/** What request number `n` (from 0) asked for. */
export function bodyOf({ requests }: ModelServer, n: number): ChatBody {
  const request = requests[n]
  if (request === undefined) throw new Error(`there were only ${requests.length} requests`)
  // What arrived is what a chat completion sends.
  return request.body as unknown as ChatBody
}

export function systemPromptOf(server: ModelServer, n = 0): string {
  const first = bodyOf(server, n).messages[0]
  return first?.role === 'system' ? String(first.content) : ''
}

/** What the tools put out, as the model read it in request number `n`. */
export function toolResults(server: ModelServer, n: number): string[] {
  return bodyOf(server, n)
    .messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
}

export function shownTools(server: ModelServer, n: number): string[] {
  return (bodyOf(server, n).tools ?? []).map((tool) => tool.function.name)
}

export async function collect(stream: EventStream): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** The events of a whole run. */
export async function eventsOf(session: Session, prompt: string): Promise<AgentEvent[]> {
  return collect(await session.stream(prompt))
}

export function ofType<Type extends AgentEvent['type']>(
  events: readonly AgentEvent[],
  type: Type,
): Extract<AgentEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<AgentEvent, { type: Type }> => event.type === type)
}

/** Reads until an event of this type has come. */
export async function until<Type extends AgentEvent['type']>(
  stream: EventStream,
  type: Type,
): Promise<Extract<AgentEvent, { type: Type }>> {
  for (;;) {
    const { value, done } = await stream.next()
    if (done) throw new Error(`the stream ended without ${type}`)
    if (value.type === type) return value as Extract<AgentEvent, { type: Type }>
  }
}

/** A promise and what settles it. */
export function later<Value = void>(): { promise: Promise<Value>; resolve(value: Value): void } {
  let resolve: (value: Value) => void = () => undefined
  const promise = new Promise<Value>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
