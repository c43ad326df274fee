// The start of commands: until they have printed their version, and until a model is asked. Whole processes, measured
// by bash.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { measured, takeTurns, turnsArea } from '../turns.mjs'

const root = join(import.meta.dirname, '../../..')
const installed = join(import.meta.dirname, '../node_modules')

/** @typedef {{ name: string, title: string, version: string[], ask: string[], env?: Record<string, string>, prepare?: (home: string) => void }} Command */

/** @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
export async function commands({ names, where, quick }) {
  const field = commandsAt(where.url)
    .filter(({ name }) => names.some((one) => name === one || name.startsWith(`${one}-`)))
    .map((command) => contender(command, where))
  const options = { turns: quick ? 3 : 7, warmUps: 1 }
  const version = await takeTurns(field, 'version', { ...options, needs: 'version' })
  const ask = await takeTurns(field, 'ask', { ...options, needs: 'ask' })
  const at = (/** @type {readonly import('../turns.mjs').Row[]} */ rows) =>
    measured(rows, 'capstan')?.wallRatio.median ?? Number.NaN
  return {
    areas: [
      turnsArea(
        'command-version',
        'Commands: the version',
        'From start to end; ratios to `node -e 0`.',
        version,
      ),
      turnsArea(
        'command-ask',
        'Commands: the first request',
        'Wall time until the model server has the first request of a question, CPU until it is answered and the command has ended; ratios to `node -e 0`. KB: what was sent.',
        ask,
        ['KB sent'],
      ),
    ],
    targets: [
      { name: 'capstan --version', unit: 'times node -e 0, by the clock', most: 1.6, found: at(version) },
      {
        name: 'capstan run, to the first request',
        unit: 'times node -e 0, by the clock',
        most: 3,
        found: at(ask),
      },
    ],
  }
}

/** @param {string} url @returns {Command[]} */
function commandsAt(url) {
  const node = process.execPath
  const bin = (/** @type {string} */ name) => join(installed, '.bin', name)
  return [
    { name: 'fetch', title: 'node -e 0', version: [node, '-e', '0'], ask: [node, '-e', '0'] },
    {
      name: 'capstan',
      title: 'capstan',
      version: [node, join(root, 'dist/cli/main.js'), '--version'],
      ask: [node, join(root, 'dist/cli/main.js'), 'run', '--no-stdin', '--config', 'bench.acl', 'Hello'],
      prepare: (home) =>
        writeFileSync(
          join(home, 'bench.acl'),
          `default_model = "bench/m"\nproviders "bench" {\n  base_url = "${url}/answer/v1"\n  models "m" { tool_call = true }\n}\n`,
        ),
    },
    {
      name: 'pi',
      title: 'pi (pi-coding-agent)',
      version: [bin('pi'), '--version'],
      ask: [bin('pi'), '--offline', '--provider', 'bench', '--model', 'm', '-p', 'Hello'],
      env: { PI_OFFLINE: '1' },
      prepare(home) {
        mkdirSync(join(home, '.pi/agent'), { recursive: true })
        const bench = {
          baseUrl: `${url}/answer/v1`,
          api: 'openai-completions',
          apiKey: 'none',
          models: [{ id: 'm' }],
        }
        writeFileSync(join(home, '.pi/agent/models.json'), JSON.stringify({ providers: { bench } }))
      },
    },
    {
      name: 'adk-gemini',
      title: 'gemini (gemini-cli)',
      version: [bin('gemini'), '--version'],
      ask: [bin('gemini'), '--model', 'gemini-2.5-flash', '--skip-trust', '-p', 'Hello'],
      env: {
        GEMINI_API_KEY: 'none',
        GOOGLE_GEMINI_BASE_URL: `${url}/answer`,
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
      },
      prepare(home) {
        mkdirSync(join(home, '.gemini'), { recursive: true })
        const settings = {
          security: { auth: { selectedType: 'gemini-api-key' } },
          general: { disableAutoUpdate: true },
          privacy: { usageStatisticsEnabled: false },
        }
        writeFileSync(join(home, '.gemini/settings.json'), JSON.stringify(settings))
      },
    },
  ]
}

/**
 * @param {Command} command
 * @param {{ url: string, place: string }} where
 * @returns {import('../field.mjs').Asked<'version' | 'ask'>}
 */
function contender({ name, title, env = {}, prepare, ...lines }, { url, place }) {
  const home = join(place, 'commands', name)
  mkdirSync(home, { recursive: true })
  prepare?.(home)
  const surroundings = { PATH: process.env['PATH'] ?? '', HOME: home, NO_COLOR: '1', ...env }
  return {
    name,
    title,
    cannot: {},
    async runs(what) {
      await fetch(`${url}/taken`)
      const began = performance.timeOrigin + performance.now()
      // The start of the shell favours no contender: it is also part of the first row.
      const { stderr, status } = spawnSync(
        'bash',
        ['-c', `TIMEFORMAT='took %U %S'; time "$@" > out 2> err`, 'bash', ...lines[what]],
        {
          cwd: home,
          env: surroundings,
          encoding: 'utf8',
          timeout: 60_000,
        },
      )
      const ended = performance.timeOrigin + performance.now()
      const [, user, system] = /took ([\d.]+) ([\d.]+)/.exec(stderr ?? '') ?? []
      if (status !== 0 || user === undefined)
        throw new Error(`it ended with ${status}: ${stderr?.slice(0, 200)}`)
      const { requests, bytes, firstAt } = await (await fetch(`${url}/taken`)).json()
      if (what === 'ask' && requests === 0 && name !== 'fetch') throw new Error('no request came')
      const wall = (what === 'ask' && requests > 0 ? firstAt : ended) - began
      const cpu = (Number(user) + Number(system)) * 1000
      return { cpu, wall, rss: 0, walls: [wall], facts: { 'KB sent': bytes / 1024 } }
    },
    end: async () => undefined,
  }
}
