import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { root, runTsc } from '../house/run.js'
import { sharedDirectory } from '../support/temporary-directory.js'
import { notRun, type Program, programs, shapes } from './programs.js'
import { shapesModule } from './shapes.js'

const samples = join(root, 'test/seeds/samples')
const folder = join(root, '.build/seeds')
const place = sharedDirectory()
const names = readdirSync(samples).map((file) => file.replace(/\.sample$/, ''))
const timeout = 120_000

let complaints = new Map<string, string[]>()
let outcomes: Readonly<Record<string, string>> = {}

beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, program] of Object.entries(programs)) {
    const text = moduleOf(name, program)
    writeFileSync(join(folder, `${name}.mts`), typed(text))
    writeFileSync(join(folder, `${name}.mjs`), text)
  }
  writeFileSync(join(folder, 'shapes.mts'), shapesModule(sampleText))
  ;[complaints, outcomes] = await Promise.all([compile(), runAll(Object.keys(programs))])
}, timeout)

describe('the samples of the contract', () => {
  it('all run, or are compiled, or have a reason why not', () => {
    const known = [...Object.keys(programs), ...shapes, ...Object.keys(notRun)]
    expect(known.toSorted()).toEqual(names.toSorted())
    const count = (seed: string): number => names.filter((name) => name.startsWith(seed)).length
    expect(['000', '001', '002', '003', '004'].map(count)).toEqual([8, 34, 3, 5, 9])
  })

  for (const name of Object.keys(programs)) {
    it(`run in JavaScript as written: ${name}`, () => {
      expect(outcomes[name]).toBe('passed')
    })
    it(`compile as strict TypeScript as written: ${name}`, () => {
      expect(complaints.get(`${name}.mts`) ?? []).toEqual([])
    })
  }

  it('that describe types match those of the package', () => {
    expect(complaints.get('shapes.mts') ?? []).toEqual([])
  })
})

function sampleText(name: string): string {
  return readFileSync(join(samples, `${name}.sample`), 'utf8')
}

/** A sample as the body of a function, between what it takes for granted and what must hold after it. */
function moduleOf(name: string, { before, after, paths = {}, asText }: Program): string {
  let sample = asText ? '' : sampleText(name)
  for (const [path, instead] of Object.entries(paths)) sample = sample.replaceAll(path, instead)
  const imports = [
    'Agent',
    'DefaultSecurityProvider',
    'FileMemoryStore',
    'FileSessionStore',
    'formatVerificationSummary',
  ]
  const transports = ['HttpTransport', 'StdioTransport', 'UnixSocketTransport', 'WebSocketTransport']
  return `import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { ${[...imports, ...transports].join(', ')} } from 'capstan'
import { bodiesOf, closeLater, echoServer, open, sampleText, write } from '../../test/seeds/harness.mjs'

export default async function () {
${asText ? `const sample = sampleText('${name}')` : ''}
${before}
${sample}
${after}
}
`
}

/** Types that JavaScript has in comments, where TypeScript has them in the code. The samples themselves have none. */
function typed(text: string): string {
  return text
    .replace(/\/\*\* @type \{([^\n]+?)\} \*\/\n\s*const (\w+) =/g, 'const $2: $1 =')
    .replace(/\/\*\* @type \{([^\n]+?)\} \*\/ (\w+)/g, '$2: $1')
}

async function compile(): Promise<Map<string, string[]>> {
  const compilerOptions = {
    rootDir: '../..',
    noUnusedLocals: false,
    noUnusedParameters: false,
    types: ['node'],
  }
  const settings = { extends: '../../tsconfig.json', compilerOptions, include: ['*.mts'], exclude: [] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  const { stdout, stderr } = await runTsc(['-p', 'tsconfig.json'], { cwd: folder, timeout })
  const found = new Map<string, string[]>()
  let last: string[] = []
  for (const line of `${stdout}${stderr}`.split('\n').filter((each) => each.trim() !== '')) {
    const [, file] = /^(.+?)\(\d+,\d+\): /.exec(line) ?? []
    if (file !== undefined) {
      last = found.get(file) ?? []
      found.set(file, last)
    } else if (!line.startsWith(' ')) throw new Error(`The samples cannot be compiled: ${line}`)
    last.push(line)
  }
  return found
}

/** Runs all programs in one process, with the commands that the samples name on its path. */
function runAll(all: readonly string[]): Promise<Record<string, string>> {
  const bin = join(place, 'bin')
  mkdirSync(bin)
  const server = join(root, 'test/mcp/bad-server.mjs')
  const commands = {
    cargo: `[ "$*" = "test -p a3s-code-core" ] && echo "test result: ok"`,
    npx: `[ "$*" = "-y @modelcontextprotocol/server-github" ] && [ -n "$GITHUB_TOKEN" ] && exec "${process.execPath}" "${server}" none`,
  }
  for (const [name, script] of Object.entries(commands)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  const files = all.map((name) => join(folder, `${name}.mjs`))
  const child = spawn(process.execPath, [join(root, 'test/seeds/run-programs.mjs'), ...files], {
    cwd: place,
    env: {
      ...process.env,
      PATH: `${bin}:${process.env['PATH']}`,
      HOME: join(place, 'home'),
      SEEDS_DIR: place,
      GITHUB_TOKEN: 'token-of-the-sample',
    },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  })
  let [told, complained] = ['', '']
  child.stdio[3]?.on('data', (data) => (told += data))
  child.stderr?.on('data', (data) => (complained += data))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      if (code !== 0) return reject(new Error(`The programs ended with code ${code}: ${complained}`))
      const outcome: Record<string, string> = JSON.parse(told)
      resolve(
        Object.fromEntries(all.map((name) => [name, outcome[join(folder, `${name}.mjs`)] ?? 'not run'])),
      )
    })
  })
}
