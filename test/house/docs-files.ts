import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { run } from './run.js'

/**
 * Parses a YAML block; a workflow (a document with `jobs`) must have steps that do something. Throws on the first
 * problem.
 */
export function checkYaml(code: string): void {
  const document: unknown = parse(code)
  if (!isRecord(document) || !isRecord(document['jobs'])) return
  for (const [name, job] of Object.entries(document['jobs'])) {
    const steps = isRecord(job) ? job['steps'] : undefined
    if (!Array.isArray(steps) || steps.length === 0) throw new Error(`The job "${name}" has no steps`)
    for (const step of steps) {
      const does = isRecord(step) ? ['run', 'uses'].filter((key) => typeof step[key] === 'string') : []
      if (does.length !== 1) throw new Error(`A step of the job "${name}" needs either "run" or "uses"`)
    }
  }
}

/** Checks the texts and brackets of code in a language that no parser here knows. `comment` begins a comment. */
export function checkBrackets(code: string, comment: string): void {
  const open: string[] = []
  const plain = code
    .replace(/"(?:[^"\\\n]|\\.)*"/g, '')
    .split('\n')
    .map((line) => line.split(comment)[0] ?? '')
    .join('\n')
  if (plain.includes('"')) throw new Error('A text does not end')
  for (const [sign] of plain.matchAll(/[()[\]{}]/g)) {
    const wanted = closing[sign]
    if (wanted !== undefined) open.push(wanted)
    else if (open.pop() !== sign) throw new Error(`"${sign}" closes nothing`)
  }
  if (open.length > 0) throw new Error(`"${open.at(-1)}" is missing`)
}

const closing: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

/** Checks the instructions of a Containerfile: known names, FROM first, JSON where an instruction takes a list. */
export function checkContainerfile(code: string): void {
  const lines = code
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const [first = ''] = lines
  if (!first.startsWith('FROM ')) throw new Error(`The first instruction must be FROM, not "${first}"`)
  for (const line of lines) {
    const [, name = '', rest = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? []
    if (!instructions.has(name)) throw new Error(`"${name}" is not an instruction of a Containerfile`)
    if (rest === '') throw new Error(`${name} needs an argument`)
    if (rest.startsWith('[')) JSON.parse(rest)
  }
}

/**
 * Checks a systemd unit with `systemd-analyze verify`, where there is one. The programs that it starts need not exist.
 */
export async function checkUnit(code: string): Promise<void> {
  if (!/^\[Service\]$/m.test(code) || !/^ExecStart=\S/m.test(code))
    throw new Error('A service unit needs a [Service] section with ExecStart')
  const folder = mkdtempSync(join(tmpdir(), 'unit-'))
  try {
    const file = join(folder, 'documented.service')
    writeFileSync(file, code)
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', file]).catch(noAnalyzer)
    const problems = `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line.includes('documented.service') && !line.includes('is not executable'))
    if (problems.length > 0) throw new Error(problems.join('\n'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const instructions = new Set(
  'FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL'.split(
    ' ',
  ),
)

function noAnalyzer(error: unknown): { stdout: string; stderr: string } {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { stdout: '', stderr: '' }
  throw error
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
