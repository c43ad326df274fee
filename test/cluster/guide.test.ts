/** The steps of docs/cluster.md from one machine to three, with the files as the page shows them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { readArgs } from '../../src/cli/args.js'
import { commandTable } from '../../src/cli/command-table.js'
import { startModelServer } from '../../src/testing/index.js'
import { extractBlocks } from '../house/docs-blocks.js'
import { root } from '../house/run.js'
import { roleScript } from '../postgres/role-script.js'
import { hasPostgres, privateServer, runSql } from '../support/postgres.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { minutes, output, started } from './support.js'

const page = 'docs/cluster.md'
const blocks = extractBlocks(page, readFileSync(join(root, page), 'utf8'))

type Service = { readonly depends_on?: Readonly<Record<string, { readonly condition: string }>> }

/** The block of the page in a language that contains a text. */
function shown(language: string, text: string): string {
  const found = blocks.filter((block) => block.language === language && block.code.includes(text))
  expect(found, `blocks of ${page} with ${text}`).toHaveLength(1)
  return found[0]?.code ?? ''
}

/** The words of a command line; double quotes hold a word together. */
function wordsOf(line: string): string[] {
  return [...line.trim().matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

function lineWith(text: string, start: string): string {
  return text.split('\n').find((line) => line.startsWith(start)) ?? ''
}

describe.skipIf(!hasPostgres())('the guide from one machine to three', () => {
  it(
    'leads to three workers that share the runs, when it is followed step by step',
    async () => {
      const server = await privateServer()
      const base = realpathSync(temporaryDirectory())
      const app = join(base, 'app')
      mkdirSync(app)
      const models = await startModelServer(() => 'There are no open issues.')
      onTestFinished(() => models.close())
      const here = (text: string): string =>
        text
          .replaceAll(
            /postgres:\/\/(\w+)@db\.example\/capstan/g,
            (_, user: string) =>
              `postgres://${user}@localhost/capstan?host=${encodeURIComponent(server.directory)}`,
          )
          .replaceAll('https://api.openai.com/v1', `${models.url}/v1`)
          .replaceAll('/srv/app', app)
      const machine = (name: string) => {
        const etc = join(base, name)
        mkdirSync(etc)
        return {
          etc,
          /** Runs a command of the page; its first word is `capstan`. */
          command(words: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
            const given = words.map((word) => here(word).replaceAll('/etc/capstan', etc))
            expect(given[0]).toBe('capstan')
            return spawn(process.execPath, [join(root, 'dist/cli/main.js'), ...given.slice(1)], {
              cwd: etc,
              env: { PATH: process.env['PATH'] ?? '', HOME: etc, CAPSTAN_HOME: join(etc, 'home'), ...env },
              stdio: ['ignore', 'pipe', 'pipe'],
            })
          },
        }
      }
      const machines = ['one', 'two', 'three'].map(machine)
      const [one] = machines
      if (one === undefined) throw new Error('there is no machine')

      // Step 2: as createuser and createdb do it.
      const created = shown('text', 'createdb ')
      expect(created).toContain('createuser capstan_owner\ncreatedb -O capstan_owner capstan\n')
      await runSql(server.url, 'create role capstan_owner login')
      await runSql(server.url, 'create database capstan owner capstan_owner')
      const migrated = await output(one.command(wordsOf(lineWith(created, 'capstan migrate'))))
      expect(migrated).toMatchObject({ code: 0, text: expect.stringContaining('The schema capstan') })
      // Step 3.
      const { create, grant } = roleScript()
      await runSql(server.url, create)
      await runSql(here('postgres://capstan_owner@db.example/capstan'), grant)
      // Steps 4 and 5.
      const env = Object.fromEntries(
        shown('text', 'CAPSTAN_CLUSTER_KEY=')
          .trim()
          .split('\n')
          .map((line): [string, string] => {
            const at = line.indexOf('=')
            return [line.slice(0, at), here(line.slice(at + 1))]
          }),
      )
      expect(Object.keys(env)).toEqual(['CAPSTAN_DATABASE_URL', 'CAPSTAN_CLUSTER_KEY', 'OPENAI_API_KEY'])
      for (const { etc } of machines)
        writeFileSync(join(etc, 'worker.acl'), here(shown('acl', 'providers "openai"')))
      // Step 6.
      const start = lineWith(shown('ini', 'capstan worker'), 'ExecStart=').replace(/^ExecStart=\S+ /, '')
      const work = ({ command }: typeof one) => started(command([...wordsOf(start), '--json'], env))
      const first = await work(one)
      // Step 7.
      const submit = wordsOf(lineWith(shown('text', 'capstan runs submit'), 'capstan runs submit'))
      const done = { code: 0, text: expect.stringContaining('There are no open issues.') }
      expect(await output(one.command(submit, env))).toMatchObject(done)
      // Step 8.
      const others = await Promise.all(machines.slice(1).map(work))
      const status = await output(one.command(['capstan', 'cluster', 'status', '--json'], env))
      expect(
        JSON.parse(status.text)
          .nodes.map(({ id }: { id: string }) => id)
          .toSorted(),
      ).toEqual([first, ...others].map(({ nodeId }) => nodeId).toSorted())
      first.child.kill('SIGTERM')
      expect(await first.ended).toBe(0)
      expect(await output(one.command(submit, env))).toMatchObject(done)
    },
    20 * minutes,
  )
})

describe('the commands of the page about the cluster', () => {
  it('have options that exist', async () => {
    const lines = blocks
      .flatMap(({ code }) => code.split('\n'))
      .flatMap(
        (line) => /(?:^|=|: |\s)(capstan (?:worker|runs|cluster|migrate|server) .*)$/.exec(line)?.[1] ?? [],
      )
    expect(lines.length).toBeGreaterThan(5)
    for (const line of lines) {
      const [, name = '', ...words] = wordsOf(line)
      const command = await commandTable.find((each) => each.name === name)?.load()
      expect(() => readArgs(words, command?.options ?? []), line).not.toThrow()
    }
  })

  it('use a compose file whose keys, references and variables are known', () => {
    const { services, volumes, ...rest } = parse(shown('yaml', 'services:'))
    expect(rest).toEqual({})
    const known = [
      ...['image', 'command', 'environment', 'volumes', 'healthcheck', 'depends_on', 'stop_grace_period'],
      ...['restart', 'deploy'],
    ]
    for (const [name, service] of Object.entries<Service>(services)) {
      expect(Object.keys(service).filter((key) => !known.includes(key))).toEqual([])
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        expect(Object.keys(services), name).toContain(other)
        expect(condition).toMatch(/^service_(?:healthy|completed_successfully)$/)
        if (condition === 'service_healthy') expect(services[other]).toHaveProperty('healthcheck')
      }
    }
    const [named = ''] = services.db.volumes[0].split(':')
    expect(Object.keys(volumes)).toEqual([named])
    const { CAPSTAN_CLUSTER_KEY: key, CAPSTAN_DATABASE_URL: url } = services.worker.environment
    expect(key.length).toBeGreaterThanOrEqual(32)
    const { username, password, hostname, pathname } = new URL(url)
    expect(services[hostname].environment).toEqual({
      POSTGRES_USER: username,
      POSTGRES_PASSWORD: password,
      POSTGRES_DB: pathname.slice(1),
    })
    expect(services.migrate.environment['CAPSTAN_DATABASE_URL']).toBe(url)
    expect(services.worker.deploy).toEqual({ replicas: 3 })
  })
})
