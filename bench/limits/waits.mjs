// How long a person or a host waits for something that must come at once: milliseconds, the median of several tries.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { pathToFileURL } from 'node:url'
import { Agent, createJsonTool, FileMemoryStore } from 'capstan'
import { scriptedModel } from 'capstan/testing'

const modules = join(import.meta.dirname, '../../.build/modules')
const load = (/** @type {string} */ path) => import(pathToFileURL(join(modules, path)).href)

/** @param {number} tries @returns {Promise<{ name: string, ms: number, most: number }[]>} */
export async function measureWaits(tries) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-bench-waits-')))
  const agent = await Agent.create({}, { userDir: join(base, 'user'), env: {} })
  mkdirSync(join(base, 'work'))
  try {
    return [
      {
        name: 'cancel a run whose tool never answers',
        ms: await middle(tries, () => cancelledRun(agent, base, stuckTool)),
        most: 100,
      },
      {
        name: 'cancel a command that ignores SIGTERM',
        ms: await middle(tries, () => cancelledRun(agent, base, stubbornCommand)),
        most: 2_000,
      },
      {
        name: 'close a session whose command runs',
        ms: await middle(tries, () => closedSession(agent, base)),
        most: 2_000,
      },
      { name: 'one search in 1,000 skills', ms: await skillSearch(), most: 5 },
      { name: 'one recall from 10,000 memories', ms: await recall(base), most: 10 },
      { name: '32 tasks of 100 ms, eight at a time', ms: await manyTasks(agent, base), most: 1_600 },
    ]
  } finally {
    await agent.close()
    rmSync(base, { recursive: true, force: true })
  }
}

const stuckTool = {
  steps: [{ toolCalls: [{ name: 'stuck' }] }, 'Done.'],
  begun: 'tool_execution_start',
}
const stubbornCommand = {
  steps: [
    {
      toolCalls: [{ name: 'bash', args: { command: `trap '' TERM; echo up; while :; do sleep 300; done` } }],
    },
    'Done.',
  ],
  begun: 'tool_output_delta',
}
const stuck = createJsonTool({
  name: 'stuck',
  description: 'Never answers.',
  parameters: { type: 'object' },
  execute: () => new Promise(() => undefined),
})

/** @param {Agent} agent @param {string} base @param {typeof stuckTool | typeof stubbornCommand} what */
async function cancelledRun(agent, base, { steps, begun }) {
  const session = open(agent, base, steps)
  let from = 0
  for await (const event of await session.stream('Go.')) {
    if (event.type !== begun || from !== 0) continue
    from = performance.now()
    session.cancel()
  }
  if (from === 0) throw new Error(`The run never came to ${begun}.`)
  const ms = performance.now() - from
  await session.close()
  return ms
}

/** @param {Agent} agent @param {string} base */
async function closedSession(agent, base) {
  const session = open(agent, base, stubbornCommand.steps)
  const stream = await session.stream('Go.')
  for (;;) {
    const { value, done } = await stream.next()
    if (done) throw new Error(`The run never came to ${stubbornCommand.begun}.`)
    if (value.type === stubbornCommand.begun) break
  }
  const from = performance.now()
  await session.close()
  return performance.now() - from
}

/** @param {Agent} agent @param {string} base @param {any} steps */
function open(agent, base, steps) {
  return agent.session(join(base, 'work'), {
    model: scriptedModel(steps),
    sandbox: 'off',
    tools: [stuck],
    permissionPolicy: { allow: ['bash', 'stuck'] },
    onAsk: () => ({ decision: 'once' }),
  })
}

async function skillSearch() {
  const { openSkillLibrary } = await load('skills/open-library.js')
  const topics = ['release', 'database', 'migration', 'review', 'frontend', 'security', 'billing', 'search']
  const library = await openSkillLibrary({
    inline: Array.from({ length: 1_000 }, (_, at) => ({
      name: `${topics[at % 8]}-${topics[(at >> 3) % 8]}-${at}`,
      description: `Handles ${topics[(at >> 6) % 8]} of kind ${at}. Use when ${topics[(at * 7) % 8]} work comes up.`,
      content: `Step ${at}. `.repeat(40),
    })),
  })
  await library.search('warm up release', 5)
  return middle(40, async () => timed(() => library.search('database migration', 5)))
}

/** @param {string} base */
async function recall(base) {
  const { itemText } = await load('memory/file/item-text.js')
  const { searchOf } = await load('memory/search/memory-search.js')
  const directory = join(base, 'memory')
  mkdirSync(directory)
  for (let at = 0; at < 10_000; at++) {
    const words = Array.from({ length: 30 }, (_, n) => `w${(at * (n + 7) * 31) % 3000}`)
    const item = {
      id: '',
      content: `Success: fix the login test number ${at}\nResult: ${words.join(' ')}`,
      createdAtMs: Date.UTC(2026, 10, 16) - at * 60_000,
      importance: (at % 10) / 10,
      tags: ['success'],
      memoryType: 'procedural',
      metadata: {},
    }
    writeFileSync(join(directory, `2026-11-16-task-${at}.md`), itemText(item))
  }
  const search = searchOf(new FileMemoryStore(directory))
  const ask = () => search.similar({ text: 'login test w7 w77', limit: 5, now: Date.UTC(2026, 10, 17) })
  await ask()
  return middle(30, () => timed(ask))
}

/** @param {Agent} agent @param {string} base */
async function manyTasks(agent, base) {
  const model = scriptedModel(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    return 'x'
  })
  const session = agent.session(join(base, 'work'), { model, sandbox: 'off' })
  await session.task({ prompt: 'warm up' })
  const ms = await timed(() =>
    session.tasks(Array.from({ length: 32 }, (_, at) => ({ prompt: `question ${at}` }))),
  )
  await session.close()
  return ms
}

/** @param {() => unknown} work */
async function timed(work) {
  const from = performance.now()
  await work()
  return performance.now() - from
}

/** @param {number} tries @param {() => Promise<number>} once */
async function middle(tries, once) {
  const times = []
  for (let at = 0; at < tries; at++) times.push(await once())
  return times.toSorted((a, b) => a - b)[Math.floor(tries / 2)] ?? Number.NaN
}
