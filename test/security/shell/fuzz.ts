import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { judge } from '../../../src/authority/judge.js'
import type { CommandAnalysis } from '../../../src/authority/shell/analysis.js'
import { analyzeCommand } from '../../../src/authority/shell/analyze-command.js'
import { bash, bookOf } from '../rules/p0.js'
import { DENIED, GIVEN_FILES, MARKERS, REAL_PROGRAMS, randomScript, seeded } from './fuzz-grammar.js'
import { reasons } from './seen.js'
import { canTrace, changedFiles, type OpenedFile, readTrace, traced } from './traced-files.js'

export type FuzzReport = {
  readonly cases: number
  /** Scripts of which bash ran at least one marker command. */
  readonly executed: number
  /** Scripts that ran something and are nevertheless not understood, hence asked about. */
  readonly refused: number
  /** Scripts that ran a marker which is not a unit: only a doubt covers it. */
  readonly onlyDoubted: number
  /** Scripts without any doubt. */
  readonly clear: number
  readonly timedOut: number
  /** Scripts that ran something that is not seen, and not explained by a doubt about just that. */
  readonly hidden: readonly Finding[]
  /** Scripts without any doubt that ran a command with other arguments, or elsewhere, than was seen. */
  readonly misread: readonly Finding[]
  /** Scripts that opened a file for writing, or one that must not be read, or ran what is denied. */
  readonly wrote: number
  readonly readDenied: number
  readonly ranDenied: number
  /** Those of them that the judge allows. */
  readonly unseen: readonly Finding[]
  /** Scripts that the judge allows under both policies. */
  readonly allowed: number
  /** False: only what was written is known, by comparing files; there is no tracer, or it may not be used. */
  readonly traced: boolean
}

/** How a marker command was called, and where. */
type Call = { readonly argv: readonly string[]; readonly cwd: string }
type Run = { readonly ended: boolean; readonly calls: readonly Call[]; readonly files: readonly OpenedFile[] }

/** Every program by name, and no file: what a redirection writes is never covered. */
const programs = bookOf({
  allow: [...MARKERS, ...REAL_PROGRAMS, 'echo', 'true', ':', 'test', 'printf', 'wait'].map(
    (name) => `bash(${name} *)`,
  ),
})
/** Every command, but not the files `r0`, `r1`, … and not the last marker. */
const denials = bookOf({
  allow: ['bash(*)', 'write(*)'],
  deny: ['read(**/r[0-9])', `bash(${DENIED} *)`],
})

export type Finding = { readonly script: string; readonly ran: string }

/** Runs random scripts in real bash and compares what ran with what was seen. */
export async function fuzz(cases: number, seed: number): Promise<FuzzReport> {
  const random = seeded(seed)
  const scripts = Array.from({ length: cases }, () => randomScript(random))
  const runs = await runScripts(scripts)
  const total = { executed: 0, refused: 0, onlyDoubted: 0, clear: 0, timedOut: 0 }
  const judged = { wrote: 0, readDenied: 0, ranDenied: 0, allowed: 0 }
  const unseen: Finding[] = []
  const hidden: Finding[] = []
  const misread: Finding[] = []
  for (const [at, script] of scripts.entries()) {
    const analysis = analyzeCommand(script)
    const { ended, calls: ran, files } = runs[at] ?? { ended: false, calls: [], files: [] }
    const wrote = files.find(({ writes }) => writes)
    const read = files.find(({ path, writes }) => !writes && /(^|\/)r\d$/.test(path))
    const denied = ran.find(({ argv: [name] }) => name === DENIED)
    const byName = judge(bash(script), programs).verdict.action
    const byDenial = judge(bash(script), denials).verdict.action
    if (byName === 'allow' && byDenial === 'allow') judged.allowed++
    if (wrote) judged.wrote++
    if (read) judged.readDenied++
    if (denied) judged.ranDenied++
    if (wrote && byName === 'allow') unseen.push({ script, ran: `wrote ${wrote.path}` })
    if (read && byDenial === 'allow') unseen.push({ script, ran: `read ${read.path}` })
    if (denied && byDenial === 'allow') unseen.push({ script, ran: denied.argv.join(' ') })
    const clear = reasons(analysis).length === 0
    if (clear) total.clear++
    if (!ended) total.timedOut++
    if (ran.length === 0) continue
    total.executed++
    if (analysis.doubts.includes('the command was not understood')) total.refused++
    const missing = ran.find(({ argv: [name = ''] }) => !isSeen(name, analysis))
    if (missing && !isExplained(analysis)) hidden.push({ script, ran: missing.argv.join(' ') })
    else if (missing) total.onlyDoubted++
    const other = clear ? ran.find((call) => !isSeenExactly(call, analysis)) : undefined
    if (other) misread.push({ script, ran: JSON.stringify(other) })
  }
  return { cases, ...total, hidden, misread, ...judged, unseen, traced: canTrace() }
}

/** The doubts that explain a command the analysis does not list: bash reads it from text that no parser reads. */
function isExplained(analysis: CommandAnalysis): boolean {
  return reasons(analysis).some((reason) =>
    /evaluates|not understood|jobs -x|extended glob|read \[\[ as a keyword/.test(reason),
  )
}

function isSeen(name: string, { units }: CommandAnalysis): boolean {
  return units.some(({ words: [first] }) => first && (first.value === undefined || first.value === name))
}

function isSeenExactly({ argv, cwd }: Call, { units }: CommandAnalysis): boolean {
  return units.some(
    (unit) =>
      unit.cwd === cwd &&
      unit.words.length === argv.length &&
      unit.words.every((word, at) => word.value === argv[at]),
  )
}

/** What each script ran, and whether it came to an end by itself. */
async function runScripts(scripts: readonly string[]): Promise<Run[]> {
  const root = await mkdtemp(join(tmpdir(), 'shell-fuzz-'))
  try {
    await writeStubs(root)
    const results: Run[] = []
    const batches: number[] = []
    for (let first = 0; first < scripts.length; first += BATCH) batches.push(first)
    const worker = async (): Promise<void> => {
      for (let first = batches.shift(); first !== undefined; first = batches.shift()) {
        const batch = scripts.slice(first, first + BATCH)
        const together = await runBatch(root, first, batch)
        for (const [at, script] of batch.entries()) {
          // One script that hangs takes its batch with it: the others get another chance, alone.
          const run = together.ended ? together : await runBatch(root, first + at, [script])
          const files = run.files.filter((file) => file.case === first + at)
          results[first + at] = { ended: run.ended, calls: run.calls[together.ended ? at : 0] ?? [], files }
        }
      }
    }
    await Promise.all([worker(), worker(), worker()])
    return results
  } finally {
    await rm(root, { recursive: true, force: true, maxRetries: 5 })
  }
}

const BATCH = 50

/** The only commands there are: markers that log how they were called, and wrappers that can start nothing else. */
async function writeStubs(root: string): Promise<void> {
  await mkdir(join(root, 'bin'))
  for (const [at, name] of MARKERS.entries()) {
    const path = join(root, 'bin', name)
    // One write for each call: several may be logging at once.
    const log = `s=$PWD\u001f\${0##*/}; for a; do s="$s\u001f$a"; done; printf '%s\u001e' "$s" >> "$FUZZ_LOG"`
    await writeFile(path, `#!/bin/sh\n${log}\nexit ${at % 2}\n`)
    await chmod(path, 0o755)
  }
  for (const name of REAL_PROGRAMS)
    await symlink(name === 'bash' ? '/bin/bash' : `/usr/bin/${name}`, join(root, 'bin', name))
}

async function runBatch(
  root: string,
  first: number,
  scripts: readonly string[],
): Promise<{
  readonly ended: boolean
  readonly calls: readonly Call[][]
  readonly files: readonly OpenedFile[]
}> {
  const lines: string[] = []
  for (const [at, script] of scripts.entries()) {
    const id = first + at
    const place = join(root, `c${id}`)
    await mkdir(join(place, 'd1'), { recursive: true })
    for (const [name, text] of Object.entries(GIVEN_FILES)) await writeFile(join(place, name), text)
    await writeFile(join(root, `s${id}`), script)
    await writeFile(join(root, `l${id}`), '')
    // A log of its own for each: jobs in the background may outlive their script.
    lines.push(`( FUZZ_LOG=${root}/l${id}; HOME=${place}; FUNCNEST=4; export FUZZ_LOG HOME; cd ${place}`)
    lines.push(`eval "$(<${root}/s${id})"`, ')')
  }
  await writeFile(join(root, `b${first}`), lines.join('\n'))
  const log = join(root, `t${first}`)
  const ended = await runBash(root, join(root, `b${first}`), log)
  const ids = scripts.map((_, at) => first + at)
  return {
    ended,
    files: canTrace()
      ? await readTrace(log, root)
      : (await Promise.all(ids.map((id) => changedFiles(id, join(root, `c${id}`), GIVEN_FILES)))).flat(),
    calls: await Promise.all(ids.map((id) => readLog(join(root, `l${id}`), join(root, `c${id}`)))),
  }
}

async function readLog(path: string, place: string): Promise<Call[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text
    .split('\u001e')
    .slice(0, -1)
    .map((entry) => {
      const [directory = '', ...argv] = entry.split('\u001f')
      return { argv, cwd: relative(place, directory) || '.' }
    })
}

/** False when it had to be stopped. Every descendant holds descriptor 3, so its end is the end of all of them. */
function runBash(root: string, file: string, log: string): Promise<boolean> {
  const [program, ...args] = traced(log, ['/bin/bash', '--noprofile', '--norc', file])
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { PATH: join(root, 'bin'), LC_ALL: 'C.UTF-8' },
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      detached: true,
    })
    let stopped = false
    const stop = (): void => {
      stopped = true
      if (child.pid === undefined) return
      try {
        process.kill(-child.pid, 'SIGKILL')
      } catch (error) {
        // No process is left in the group.
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
      }
      child.stdio[3]?.destroy()
    }
    const timer = setTimeout(stop, 40_000)
    child.on('error', reject)
    child.on('close', () => {
      clearTimeout(timer)
      resolve(!stopped)
    })
  })
}
