// Fresh processes: the cost of importing, and of everything from the start of Node to the model's first answer.
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { spread } from '../measure.mjs'
import { figure, printReasons, printTable, range } from '../report.mjs'
import { isOwn } from './parts/part.mjs'
import { quiet } from './process.mjs'

const tell = `
  const { userCPUTime, systemCPUTime } = process.resourceUsage()
  fs.writeSync(1, 'cost:' + JSON.stringify({ cpu: (userCPUTime + systemCPUTime) / 1000, rss: process.memoryUsage.rss() / 2 ** 20 }))
  process.exit()`

/** @param {import('./parts/part.mjs').Setting} setting @returns {Promise<import('./parts/part.mjs').PartResult>} */
export async function imports({ names, quick }) {
  const programs = []
  for (const name of names) {
    /** @type {{ peer: import('./contract.mjs').Peer }} */
    const { peer } = await import(`./${name}.mjs`)
    if (name.startsWith('capstan-')) continue
    const lines = peer.packages.map((entry) => `import ${JSON.stringify(entry)};`).join('')
    const from = name === 'capstan' ? join(import.meta.dirname, '../..') : import.meta.dirname
    programs.push({
      name,
      title: name === 'fetch' ? 'nothing' : peer.packages.filter((entry) => entry !== 'zod').join(', '),
      from,
      args: moduleWith(lines),
    })
  }
  const rows = inTurn(programs, quick ? 3 : 7)
  return {
    areas: [area('import', 'Import', 'What a fresh process pays for its imports', rows)],
    targets: [lightest('import', rows)],
  }
}

/** @param {import('./parts/part.mjs').Setting} setting @returns {Promise<import('./parts/part.mjs').PartResult>} */
export async function coldStart({ names, where, quick }) {
  const programs = []
  for (const name of names) {
    /** @type {{ peer: import('./contract.mjs').Peer }} */
    const { peer } = await import(`./${name}.mjs`)
    const place = join(where.place, `start-${name}`)
    mkdirSync(place, { recursive: true })
    const script = `
      import fs from 'node:fs'
      import { peer } from ${JSON.stringify(join(import.meta.dirname, `${name}.mjs`))}
      import { readIn } from ${JSON.stringify(join(import.meta.dirname, 'contract.mjs'))}
      const { read } = readIn(${JSON.stringify(where.root)})
      const opened = await peer.open({ url: ${JSON.stringify(`${where.url}/rounds-1/v1`)}, root: ${JSON.stringify(where.root)}, place: ${JSON.stringify(place)}, read, rounds: 1 })
      await opened.conversation([]).ask('Read it.', { stream: true })
      ${tell}`
    programs.push({
      name,
      title: peer.title,
      from: import.meta.dirname,
      args: ['--input-type=module', '-e', script],
    })
  }
  const rows = inTurn(programs, quick ? 3 : 5)
  const says = 'From the start of Node to the end of the first answer, one tool called'
  return { areas: [area('start', 'Cold start', says, rows)], targets: [lightest('cold start', rows)] }
}

/** @typedef {{ name: string, title: string, from: string, args: string[] }} Program */
/** @typedef {{ cpu: number, wall: number, rss: number }} Cost */
/** @typedef {ReturnType<typeof inTurn>[number]} StartRow */

/** @param {readonly Program[]} programs @param {number} times */
function inTurn(programs, times) {
  /** @type {Cost[][]} */
  const costs = programs.map(() => [])
  /** @type {(string | undefined)[]} */
  const reasons = programs.map(() => undefined)
  for (let turn = -1; turn < times; turn++) {
    for (let step = 0; step < programs.length; step++) {
      const at = (step + Math.abs(turn)) % programs.length
      const program = programs[at]
      if (program === undefined || reasons[at] !== undefined) continue
      const cost = start(program)
      if (typeof cost === 'string') reasons[at] = cost
      else if (turn >= 0) costs[at]?.push(cost)
    }
  }
  const base = costs[0] ?? []
  return programs.map(({ name, title }, at) => {
    const taken = costs[at] ?? []
    const over = (/** @type {keyof Cost} */ what) =>
      spread(taken.map((cost, turn) => cost[what] - (base[turn]?.[what] ?? Number.NaN)))
    const ratio = spread(taken.map(({ cpu }, turn) => cpu / (base[turn]?.cpu ?? Number.NaN)))
    const whole = spread(taken.map(({ cpu }) => cpu))
    const cannot = reasons[at]
    return {
      name,
      title,
      ratio,
      whole,
      cpu: over('cpu'),
      wall: over('wall'),
      rss: over('rss'),
      ...(cannot && { cannot }),
    }
  })
}

/** @param {Program} program @returns {Cost | string} */
function start({ args, from }) {
  const begin = performance.now()
  const env = { ...process.env, ...quiet }
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: from,
    encoding: 'utf8',
    env,
    timeout: 120_000,
  })
  const wall = performance.now() - begin
  const cost = stdout?.split('cost:')[1]
  return cost === undefined ? `failed: ${stderr?.trim().slice(0, 200)}` : { wall, ...JSON.parse(cost) }
}

/** @param {string} imports */
function moduleWith(imports) {
  return ['--input-type=module', '-e', `${imports} import fs from 'node:fs'; ${tell}`]
}

/** @param {string} part @param {string} title @param {string} says @param {readonly StartRow[]} rows */
function area(part, title, says, rows) {
  const explanation = `${says}: CPU ratio to the first row (${figure(rows[0]?.whole.median ?? Number.NaN)} ms), and what is over it.`
  printTable(
    title,
    explanation,
    ['', 'CPU ratio', 'p10–p90', '+ms CPU', '+ms wall', '+MB'],
    rows.map((row) =>
      row.cannot
        ? [row.title, 'cannot']
        : [
            row.title,
            figure(row.ratio.median),
            range(row.ratio),
            ...[row.cpu, row.wall, row.rss].map((one) => figure(one.median)),
          ],
    ),
  )
  printReasons(rows)
  return { part, title, explanation, kind: 'start', rows }
}

/** @param {string} name @param {readonly StartRow[]} rows @returns {import('../verdict.mjs').Target} */
function lightest(name, rows) {
  const others = rows.filter((row) => !isOwn(row.name) && !row.cannot)
  const best = others.toSorted((a, b) => a.ratio.median - b.ratio.median)[0]
  const mine = rows.find((row) => row.name === 'capstan')?.ratio.median ?? Number.NaN
  return {
    name: `${name}, against the lightest peer (${best?.title})`,
    unit: 'times its CPU',
    most: 1,
    found: mine / (best?.ratio.median ?? Number.NaN),
  }
}
