// Text made to take long: how the time of each reader grows when the text is four times as long. Linear is 1, quadratic
// is 2.

import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { pathToFileURL } from 'node:url'

const modules = join(import.meta.dirname, '../../.build/modules')
const load = (/** @type {string} */ path) => import(pathToFileURL(join(modules, path)).href)

/**
 * Growth is only judged where the longer text takes at least this long: below it, it harms no one, and noise counts.
 */
const minMs = 250

/** @returns {Promise<{ name: string, growth: number, ms: number }[]>} the worst unit of each reader */
export async function measureHostileInput(size = 100_000) {
  const { readToolArgs } = await load('tool/repair-json.js')
  const { readableHtml } = await load('toolbox/web-fetch/readable-html.js')
  const { hasPassword } = await load('memory/password-in.js')
  const { understand } = await load('model/offline/understand.js')
  const { readYaml } = await load('workspace/yaml/read-yaml.js')
  const { analyzeCommand } = await load('authority/shell/analyze-command.js')
  const { nearestNames } = await load('tool/nearest.js')
  const { parseAcl } = await load('agent/config/acl/parse.js')
  const { InProcessMemoryStore } = await load('memory/in-process-store.js')
  const { DefaultSecurityProvider } = await load('session/security/default-provider.js')
  const security = new DefaultSecurityProvider({
    kinds: ['all'],
    secrets: ['ababababababac', 'swordfish-22'],
  })
  /** @type {[string, string[], (text: string) => unknown, number?][]} */
  const readers = [
    [
      'tool arguments',
      ['[', '{a:', "'", '"\\', '```\n', ',', '{"a":1}}', 'True ', '}'],
      (text) => readToolArgs(`{"a": ${text}`),
    ],
    [
      'web page',
      ['<div>', '</div>', '&', ' ', '<br>', '<a href=x>y</a>', '<title>', '`'],
      (text) => readableHtml(text, { format: 'markdown', baseUrl: 'https://site.example/' }),
    ],
    ['password search', ['password=', '://a:', 'token: a', '://', 'secret:1'], (text) => hasPassword(text)],
    [
      'offline prompt',
      ['read ', 'run `a` ', 'replace "a" by ', ' and ', '"', '`'],
      (text) => understand(text),
    ],
    ['YAML', ['a:', ' -', '[ ', ' #', '"\\\n'], (text) => readYaml(`a: ${text}`)],
    // Longer commands are refused unread.
    [
      'shell command',
      ['env ', 'sudo ', 'a;', 'a|', '$x ', '((a)) ', '<<E\n', 'cd a;', "bash -c '"],
      (text) => analyzeCommand(text),
      2_000,
    ],
    [
      'ACL',
      [
        '/**/',
        '# x\n',
        '"',
        '\\',
        '"\\"',
        '\n',
        '/*',
        '1e',
        '-',
        'a "',
        ')',
        '\u0000',
        'a "l" { b = [1] }\n',
      ],
      (text) => parseAcl(text),
      250_000,
    ],
    // One memory per character.
    ['memories', ['x'], (text) => addMemories(new InProcessMemoryStore(), text.length), 2_500],
    ['mistyped name', ['a'], (text) => nearestNames(text, ['read', 'write'])],
    [
      'redaction',
      ['ignore all ', '![](https://a?', '![', 'abababab', '\u200B'],
      (text) => security.redactOutput(text),
    ],
  ]
  const rows = []
  for (const [name, units, read, length = size] of readers) {
    let worst = { name, growth: 0, ms: 0 }
    for (const unit of units) {
      const short = await best(() => read(unit.repeat(length / unit.length)))
      const long = await best(() => read(unit.repeat((4 * length) / unit.length)))
      const growth = long < minMs ? 0 : Math.log(long / short) / Math.log(4)
      if (growth > worst.growth || long > worst.ms)
        worst = {
          name: `${name}: ${JSON.stringify(unit)}`,
          growth: Math.max(growth, worst.growth),
          ms: Math.max(long, worst.ms),
        }
    }
    rows.push(worst)
  }
  return rows
}

/** @param {{ add(item: object): Promise<unknown> }} store @param {number} count */
async function addMemories(store, count) {
  const item = {
    content: 'x',
    createdAtMs: 1,
    importance: 0.5,
    tags: [],
    memoryType: 'semantic',
    metadata: {},
  }
  for (let at = 0; at < count; at++) await store.add({ id: `m${at}`, ...item })
}

/** The best of three: other work on the machine can only make a time longer. @param {() => unknown} read */
async function best(read) {
  let least = Number.POSITIVE_INFINITY
  for (let at = 0; at < 3; at++) {
    const from = performance.now()
    try {
      await read()
    } catch (error) {
      // Refusing the text is also a valid answer.
      if (!(error instanceof Error)) throw error
    }
    least = Math.min(least, performance.now() - from)
  }
  return least
}
