/** The commands of the cluster with a real database. Workers are processes; most other commands run in this one. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openPlace } from '../cli/drive.js'
import { sitDown } from '../cli/interactive/virtual-terminal.js'
import { hasPostgres } from '../support/postgres.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { place } from './place.js'
import { clientEnv, minutes, output, started } from './support.js'

const poll = { timeout: 5 * minutes }

describe.skipIf(!hasPostgres())('capstan runs', () => {
  it(
    'submits with every option, and lists, shows, follows, cancels and queues again the submitted runs',
    async () => {
      const { run, submit, worker, work, lines, isIn, client } = await place()
      const other = join(work, 'other')
      mkdirSync(other)
      const session = await submit('a x1', '--session', 'one', '--workspace', 'other', '--lane', 'night')
      expect(session.sessionId).toBe('one')
      const urgent = await submit('b x1', '--priority', '5', '--tenant', 'acme')
      const calm = await submit('c x1', '--priority', '-1')
      const later = await submit('d x1', '--not-before', '2999-01-01T00:00:00Z')
      const keyed = await submit('e x1', '--idempotency-key', 'k')
      expect(await submit('e x1', '--idempotency-key', 'k')).toEqual(keyed)
      const astray = await submit('f x1', '--workspace', 'elsewhere')

      const list = async (...words: readonly string[]): Promise<Record<string, unknown>[]> => {
        const { stdout } = await run(['runs', 'list', '--json', ...words])
        return stdout
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line))
      }
      const all = await list()
      expect(all.map(({ runId }) => runId)).toEqual(
        [astray, keyed, later, calm, urgent, session].map(({ runId }) => runId),
      )
      expect(all.map(({ lane, priority }) => `${lane} ${priority}`)).toEqual([
        ...['default 0', 'default 0', 'default 0', 'default -1', 'default 5', 'night 0'],
      ])
      expect(all[2]).toMatchObject({ notBeforeMs: Date.parse('2999-01-01T00:00:00Z'), state: 'queued' })
      expect(all[5]).toMatchObject({ sessionId: 'one', request: { workspace: 'other' } })
      for (const [words, found] of [
        [['--tenant', 'acme'], [urgent]],
        [['--lane', 'night'], [session]],
        [['--session', 'one'], [session]],
        [['--limit', '1'], [astray]],
        [['--state', 'completed'], []],
      ] as const)
        expect((await list(...words)).map(({ runId }) => runId)).toEqual(found.map(({ runId }) => runId))
      const strange = await run(['runs', 'show', session.runId, '--tenant', 'acme'])
      expect(strange).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no run') })
      expect(await run(['runs', 'list', '--limit', '1'])).toMatchObject({
        stdout: expect.stringContaining(`${astray.runId}  queued  default  `),
        stderr: '… and more (use --limit)\n',
      })

      // Nothing serves a lane yet: the command says so instead of waiting without a word.
      const following = run(['runs', 'follow', session.runId.slice(0, 12)])
      const options = ['--mode', 'full', '--slots', '1', '--workspace', `other=${other}`]
      const first = await worker(...options, '--lane', 'default', '--lane', 'night')
      expect(await following).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('a is done after 1 calls.'),
        stderr: expect.stringContaining('No worker serves the lane "night" now.'),
      })
      expect(readFileSync(join(other, 'ledger.txt'), 'utf8')).toBe('a-1\n')
      for (const { runId } of [urgent, calm, keyed]) await isIn(runId, 'completed')
      // In the order of their priorities, and not in that of their submission.
      expect(lines()).toEqual(['b-1', 'e-1', 'c-1'])

      await isIn(astray.runId, 'failed')
      const shown = await run(['runs', 'show', astray.runId])
      expect(shown.stdout).toContain("error: This worker has no workspace 'elsewhere'.")
      expect(await run(['runs', 'follow', astray.runId])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("no workspace 'elsewhere'"),
      })
      first.child.kill('SIGTERM')
      expect(await first.ended).toBe(0)
      expect(await run(['runs', 'redrive', astray.runId, '--json'])).toMatchObject({
        code: 0,
        stdout: `${JSON.stringify({ runId: astray.runId })}\n`,
      })
      await worker('--mode', 'full', '--workspace', `elsewhere=${other}`)
      await isIn(astray.runId, 'completed')
      expect(await run(['runs', 'redrive', astray.runId])).toMatchObject({ code: 1 })

      const cancel = ['runs', 'cancel', later.runId]
      expect(await run(cancel)).toMatchObject({ code: 0, stdout: `${later.runId}: cancelled\n` })
      expect(await run(cancel)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('has ended already'),
      })
      expect((await client.get(later.runId))?.state).toBe('cancelled')
    },
    20 * minutes,
  )

  it(
    'steers, rejects, answers and cancels an active run, from another process',
    async () => {
      const { run, submit, worker, client, lines, isIn, bodies } = await place()
      await worker('--ask', 'bash', '--suspend-after', '1h')
      const asks = await submit('sea asks')
      const calls = await submit('land x1')
      const waits = async (runId: string): Promise<number> =>
        (await client.approvals(runId)).length + (await client.questions(runId)).length
      for (const { runId } of [asks, calls]) await expect.poll(() => waits(runId), poll).toBe(1)

      expect(await run(['runs', 'steer', asks.runId, 'Prefer warm water.'])).toMatchObject({
        code: 0,
        stdout: `${asks.runId}: the model reads it before its next answer\n`,
      })
      expect(await run(['runs', 'answer', asks.runId])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('--answer TEXT for a question'),
      })
      expect(await run(['runs', 'answer', asks.runId, '--decision', 'once'])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('No call of the run'),
      })
      expect(await run(['runs', 'answer', asks.runId, '--answer', 'Baltic'])).toMatchObject({ code: 0 })
      expect(await run(['runs', 'follow', asks.runId])).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/The answer is .*Baltic/),
        stderr: expect.stringContaining(`capstan runs answer ${asks.runId} --answer TEXT`),
      })
      expect(bodies().some((body) => body.includes('Prefer warm water.'))).toBe(true)

      const shown = await run(['runs', 'show', calls.runId, '--json'])
      expect(JSON.parse(shown.stdout)).toMatchObject({
        approvals: [{ callId: 'land-1', toolName: 'bash' }],
        questions: [],
      })
      const words = ['runs', 'answer', calls.runId, 'land-1', '--decision', 'reject']
      expect(await run([...words, '--message', 'Not on land.'])).toMatchObject({ code: 0 })
      const followed = await run(['runs', 'follow', calls.runId, '--json'])
      expect(
        followed.stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line).event.type),
      ).toContain('agent_end')
      expect(bodies().some((body) => body.includes('Not on land.'))).toBe(true)

      const stopped = await submit('ice x1')
      await expect.poll(() => waits(stopped.runId), poll).toBe(1)
      const following = run(['runs', 'follow', stopped.runId])
      expect(await run(['runs', 'cancel', stopped.runId, '--json'])).toMatchObject({
        stdout: `${JSON.stringify({ runId: stopped.runId, outcome: 'requested' })}\n`,
      })
      expect((await following).code).toBe(130)
      await isIn(stopped.runId, 'cancelled')
      expect(lines()).toEqual([])
    },
    20 * minutes,
  )

  it('rejects invalid arguments before it connects, and says what to do', async () => {
    const { run } = await openPlace()
    const env = clientEnv('postgres://user@127.0.0.1:1/none')
    for (const [words, code, text] of [
      [['submit'], 2, 'capstan runs submit "PROMPT"'],
      [['submit', 'x', '--priority', 'high'], 2, '--priority takes a whole number'],
      [['submit', 'x', '--not-before', 'tomorrow'], 2, 'such as 2030-01-31T06:00:00Z'],
      [['show'], 2, '"capstan runs list" lists the runs.'],
      [['list', '--wait', 'long'], 2, '--wait takes a duration'],
      [['list', '--database', 'mysql://x'], 2, 'begins with postgres://'],
      [['list', '--schema', 'a"; drop'], 2, 'must be 1 to 40 lower-case letters'],
      [['answer', 'x', '--decision', 'once'], 2, 'CAPSTAN_CLUSTER_KEY is not set'],
      [['list', '--wait', '1s'], 1, 'cannot be reached; check that it runs and that the URL is right'],
    ] as const) {
      const refused = await run(['runs', ...words], { env: { ...env, CAPSTAN_CLUSTER_KEY: '' } })
      expect(refused).toMatchObject({ code, stderr: expect.stringContaining(text) })
    }
    const without = await run(['runs', 'list'])
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('CAPSTAN_DATABASE_URL') })
  })

  it('rejects an invalid session id, and names the command for missing tables', async () => {
    const { run, root, url, schema } = await place()
    expect(await run(['runs', 'submit', 'x', '--session', '../x'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('sessionId must be 1 to 200 characters without'),
    })
    const { run: plain, env } = await openPlace()
    expect(
      await plain(['runs', 'list', '--schema', `${schema}_x`], { env: { ...env, ...clientEnv(url) } }),
    ).toMatchObject({ code: 1, stderr: expect.stringContaining("run 'capstan migrate'") })
    // The database of the configuration, when neither a flag nor the environment names one.
    const config = join(root, 'cluster.acl')
    writeFileSync(config, `storage_backend = "postgres"\nstorage_url = ${JSON.stringify(url)}\n`)
    const given = ['--config', config, '--schema', schema]
    expect(await plain(['migrate', '--json', ...given], { env })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`"schema":"${schema}"`),
    })
    expect(await plain(['runs', 'list', ...given], { env })).toMatchObject({ code: 0, stderr: 'No runs.\n' })
  })
})

describe.skipIf(!hasPostgres())('capstan worker', () => {
  it(
    'applies its own rules and mode to submitted runs',
    async () => {
      const { submit, worker, isIn, lines, bodies } = await place()
      await worker('--allow', 'bash', '--deny', 'bash(echo bad*)')
      await worker('--lane', 'watch', '--mode', 'read-only')
      const runs = [
        await submit('good x1'),
        await submit('bad x1'),
        await submit('late x1', '--lane', 'watch'),
      ]
      for (const { runId } of runs) await isIn(runId, 'completed')
      expect(lines()).toEqual(['good-1'])
      for (const name of ['bad', 'late']) {
        const last = bodies().findLast((body) => body.includes(`${name} x1`)) ?? ''
        expect(last, name).toMatch(/denied|refused|not allowed|read-only/i)
      }
    },
    20 * minutes,
  )

  it(
    'waits for a database that is down, starts when it is up, and otherwise ends with an error or by a signal',
    async () => {
      const { url, schema, command, here } = await place()
      const directory = temporaryDirectory()
      const away = new URL(url)
      away.searchParams.set('host', directory)
      const at = { ...here, databaseUrl: away.href }
      const given = ['worker', '--json', '--model', 'offline', '--workspace', `main=${directory}`]
      const late = command([...given, '--wait', '600s'], at)
      const stopped = command([...given, '--wait', '600s'], at)
      const hasSaid = Promise.all(
        [late, stopped].map(
          (child) =>
            new Promise<void>((resolve) => {
              let text = ''
              child.stderr?.on('data', (data) => {
                text += String(data)
                if (text.includes(`Waiting up to 600 s for the database ${directory}${away.pathname}`))
                  resolve()
              })
            }),
        ),
      )
      const outcome = await output(command([...given, '--wait', '100ms'], at))
      expect(outcome).toMatchObject({ code: 1, errors: expect.stringContaining('cannot be reached') })
      await hasSaid
      const ended = output(stopped)
      stopped.kill('SIGTERM')
      expect(await ended).toMatchObject({ code: 0 })
      // From now on the server is there.
      symlinkSync(`${new URL(url).searchParams.get('host')}/.s.PGSQL.5432`, join(directory, '.s.PGSQL.5432'))
      const { child, ended: drained, nodeId } = await started(late)
      expect(nodeId).toMatch(/\d/)
      child.kill('SIGTERM')
      expect(await drained).toBe(0)
      expect(schema).not.toBe('')
    },
    20 * minutes,
  )
})

describe.skipIf(!hasPostgres())('capstan cluster', () => {
  it(
    'prints the status, redraws it in place on a terminal, appends it to a pipe, and drains a node by its name',
    async () => {
      const { run, worker, command, env, root, url, schema, submit } = await place()
      await submit('x x0', '--lane', 'unserved')
      const node = await worker('--name', 'ship', '--slots', '3')
      const status = await run(['cluster', 'status'])
      expect(status.stdout.replace(/\d+ s/g, 'N s')).toMatch(
        new RegExp(
          `^nodes: 1\n  ${node.nodeId}  ship  \\S+  0/3 active  seen N s ago\nlanes: 1\n  unserved  1 queued  0 active  oldest wait N s\nwaiting for a user: 0\ndead letters: 0\ntakeovers: 0\n$`,
        ),
      )
      const piped = command(['cluster', 'status', '--watch'])
      const appended = output(piped)
      let text = ''
      const isTwice = new Promise<void>((resolve) => {
        piped.stdout?.on('data', (data) => {
          text += String(data)
          if (text.split('takeovers: 0\n').length > 2) resolve()
        })
      })
      const stopping = new AbortController()
      const watched = { root, env: { ...env, ...clientEnv(url) } }
      const person = sitDown(
        { ...(await openPlace()), ...watched },
        ['cluster', 'status', '--watch', '--schema', schema],
        { signal: stopping.signal },
      )
      await person.sees('takeovers: 0')
      await isTwice
      piped.kill('SIGINT')
      expect(await appended).toMatchObject({ code: 0 })
      expect(text).not.toContain('\u001b')

      expect(await run(['cluster', 'drain', 'boat'])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('"capstan cluster status" lists the nodes.'),
      })
      expect(await run(['cluster', 'drain', 'ship', '--json'])).toMatchObject({
        code: 0,
        stdout: `${JSON.stringify({ nodeId: node.nodeId })}\n`,
      })
      expect(await node.ended).toBe(0)
      await person.sees('nodes: 0')
      // One picture, and not one after the other.
      expect(person.screen().split('nodes: ')).toHaveLength(2)
      stopping.abort('SIGINT')
      expect(await person.left).toBe(0)
      expect(person.screen().split('takeovers: ')).toHaveLength(2)
    },
    20 * minutes,
  )
})
