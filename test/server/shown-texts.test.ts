/** What the routes show of a session in addition to its log has no secrets, and cannot block the server. */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, rmSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import type { SessionOptions } from '../../src/session/options.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { directory, type Started, startServer } from './support.js'

const timeout = 120_000
const secret = ['ghp', 'A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8'].join('_')

async function ranOnce({ call }: Started): Promise<{ readonly base: string; readonly runId: string }> {
  const { sessionId } = (await call('POST', '/v1/sessions', {})).body
  const base = `/v1/sessions/${sessionId}`
  const { runId } = (await call('POST', `${base}/runs`, { prompt: 'Do it.' })).body
  const status = async () => (await call('GET', `${base}/runs/${runId}`)).body.status
  await expect.poll(status, { timeout }).toBe('completed')
  return { base, runId }
}

it('shows the whole output of a call without tokens, and does not read a pipe that a command put in its place', {
  timeout,
}, async () => {
  const command = `echo ${secret}; seq 1 100000`
  const started = await startServer({
    session: {
      model: scriptedModel([{ toolCalls: [{ id: 'call-1', name: 'bash', args: { command } }] }, 'Done.']),
      permissionPolicy: { allow: ['bash'] },
      sandbox: 'off',
    },
  })
  const { base, runId } = await ranOnce(started)
  const output = `${base}/runs/${runId}/calls/call-1/output`
  const { text } = (await started.call('GET', output)).body
  expect(text).toContain('[REDACTED')
  expect(text).not.toContain(secret)

  const { body } = await started.call('GET', `${base}/runs/${runId}/log`)
  const path = /"output_path":"([^"]+)"/.exec(JSON.stringify(body))?.[1] ?? ''
  rmSync(path)
  execFileSync('mkfifo', [path])
  // Ends an open that waits for a writer. The file is gone with its session when none waits.
  onTestFinished(() => {
    if (existsSync(path)) closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK))
  })
  expect((await started.call('GET', output)).body.code).toBe('output_not_found')
})

/** A call of `deploy` that takes longer than its time limit, and is a dead letter after one attempt. */
function deployOptions(args: Record<string, string>): SessionOptions {
  return {
    model: scriptedModel([{ toolCalls: [{ id: 'call-1', name: 'deploy', args }] }, 'Late.']),
    tools: [
      createJsonTool({
        name: 'deploy',
        description: 'Deploys.',
        parameters: { type: 'object', properties: { key: { type: 'string' } } },
        execute: (_, context) =>
          new Promise((resolve) => context?.signal?.addEventListener('abort', () => resolve('late'))),
      }),
    ],
    permissionPolicy: { allow: ['deploy'] },
    queueConfig: { enableDlq: true, timeoutMs: 100, retryPolicy: { strategy: 'none' } },
  }
}

it('shows dead letters without tokens', { timeout }, async () => {
  const started = await startServer({ session: deployOptions({ key: secret }) })
  const { base } = await ranOnce(started)
  const { deadLetters } = (await started.call('GET', `${base}/queue`)).body
  expect(deadLetters).toMatchObject([
    { toolName: 'deploy', args: { key: expect.stringContaining('[REDACTED') } },
  ])
})

it('refuses to retry a dead letter of the log after a restart, unless the host trusts the store', {
  timeout,
}, async () => {
  const store = new FileSessionStore(directory())
  const options = { store, workspaces: [directory()], hostTools: ['deploy'] }
  const session = deployOptions({ key: 'blue' })
  const first = await startServer({ ...options, session })
  const { base } = await ranOnce(first)
  const letterOf = async ({ call }: Started) => (await call('GET', `${base}/queue`)).body.deadLetters[0]
  const { commandId, canRetry } = await letterOf(first)
  expect(canRetry).toBe(true)
  const retry = `${base}/queue/dead-letters/${commandId}/retry`
  await first.stop()

  const second = await startServer({ ...options, session })
  expect(await letterOf(second)).toMatchObject({ canRetry: false, retryProblem: 'dead_letter_from_log' })
  const refused = await second.call('POST', retry, { evenIfItMayHaveRun: true })
  expect([refused.status, refused.body.code]).toEqual([409, 'dead_letter_from_log'])
  await second.stop()

  const third = await startServer({ ...options, session: { ...session, trustStore: true } })
  expect(await letterOf(third)).toMatchObject({ canRetry: true })
  expect((await third.call('POST', retry, { evenIfItMayHaveRun: true })).status).toBe(200)
})
