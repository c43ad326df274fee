import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expandCall } from '../../../src/authority/call.js'
import { judge } from '../../../src/authority/judge.js'
import type { CommandAnalysis } from '../../../src/authority/shell/analysis.js'
import { analyzeCommand } from '../../../src/authority/shell/analyze-command.js'
import { bash, bookOf, scope } from '../rules/p0.js'
import { DENIED, GIVEN_FILES, MARKERS, REAL_PROGRAMS, randomScript, seeded, WRITERS } from './fuzz-grammar.js'
import { reasons } from './seen.js'
import {
  canTrace,
  changedFiles,
  type OpenedFile,
  readTrace,
  type StartedProgram,
  type Trace,
  traced,
} from './traced-files.js'

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
  readonly wroteDenied: number
  readonly ranDenied: number
  /** Programs that the kernel started, markers included; 0 without a tracer. */
  readonly started: number
  /** Those of them that the judge allows. */
  readonly unseen: readonly Finding[]
  /** Scripts that the judge allows under both policies. */
  readonly allowed: number
  /** False: only what was written is known, by comparing files; there is no tracer, or it may not be used. */
  readonly traced: boolean
}

/** How a marker command was called, and where. */
type Call = { readonly argv: readonly string[]; readonly cwd: string }
type Run = {
  readonly ended: boolean
  readonly calls: readonly Call[]
  readonly files: readonly OpenedFile[]
  readonly programs: readonly StartedProgram[]
}

/** Every program by name but those that write files, and no file: what a redirection writes is never covered. */
const programs = bookOf({
  allow: [...MARKERS, ...REAL_PROGRAMS, 'echo', 'true', ':', 'test', 'printf', 'wait'].map(
    (name) => `bash(${name} *)`,
  ),
})
/** Every command, but not reading the files `r0`, `r1`, …, not writing `w0`, `w1`, … and not the last marker. */
const denials = bookOf({
  allow: ['bash(*)', 'write(*)'],
  deny: ['read(**/r[0-9])', 'write(**/w[0-9])', `bash(${DENIED} *)`],
})

export type Finding = { readonly script: string; readonly ran: string }

/** Runs random scripts in real bash and compares what ran with what was seen. */
export async function fuzz(cases: number, seed: number): Promise<FuzzReport> {
  const random = seeded(seed)
  const scripts = Array.from({ length: cases }, () => randomScript(random))
  const total = { executed: 0, refused: 0, onlyDoubted: 0, clear: 0, timedOut: 0 }
  const judged = { wrote: 0, readDenied: 0, wroteDenied: 0, ranDenied: 0, started: 0, allowed: 0 }
  const unseen: Finding[] = []
  const hidden: Finding[] = []
  const misread: Finding[] = []
  // Each as soon as it ran, while others still run.
  await runScripts(scripts, (script, { ended, calls: ran, files, programs: started }) => {
    const analysis = analyzeCommand(script)
    const wrote = files.find(({ writes }) => writes)
    const read = files.find(({ path, writes }) => !writes && /(^|\/)r\d$/.test(path))
    const changed = files.find(({ path, writes }) => writes && /(^|\/)w\d$/.test(path))
    const denied =
      started.some(({ name }) => name === DENIED) || ran.some(({ argv: [name] }) => name === DENIED)
    const call = expandCall(bash(script), scope)
    const byName = judge(call, programs).verdict.action
    const byDenial = judge(call, denials).verdict.action
    if (byName === 'allow' && byDenial === 'allow') judged.allowed++
    if (wrote) judged.wrote++
    if (read) judged.readDenied++
    if (changed) judged.wroteDenied++
    if (denied) judged.ranDenied++
    judged.started += started.length
    if (wrote && byName === 'allow') unseen.push({ script, ran: `wrote ${wrote.path}` })
    if (read && byDenial === 'allow') unseen.push({ script, ran: `read ${read.path}` })
    if (changed && byDenial === 'allow') unseen.push({ script, ran: `wrote ${changed.path}` })
    if (denied && byDenial === 'allow') unseen.push({ script, ran: DENIED })
    const clear = reasons(analysis).length === 0
    if (clear) total.clear++
    if (!ended) total.timedOut++
    const names = [...ran.map(({ argv: [name = ''] }) => name), ...started.map(({ name }) => name)]
    if (names.length === 0) return
    total.executed++
    if (analysis.doubts.includes('the command was not understood')) total.refused++
    const missing = names.find((name) => !isSeen(name, analysis))
    if (missing !== undefined && !isExplained(analysis)) hidden.push({ script, ran: missing })
    else if (missing !== undefined) total.onlyDoubted++
    const other = clear ? ran.find((call) => !isSeenExactly(call, analysis)) : undefined
    if (other) misread.push({ script, ran: JSON.stringify(other) })
  })
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

/** Reports what each script ran, and whether it came to an end by itself. */
async function runScripts(
  scripts: readonly string[],
  report: (script: string, run: Run) => void,
): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'shell-fuzz-'))
  try {
    await writeStubs(root)
    const batches: number[] = []
    for (let first = 0; first < scripts.length; first += BATCH) batches.push(first)
    const worker = async (): Promise<void> => {
      for (let first = batches.shift(); first !== undefined; first = batches.shift()) {
        const batch = scripts.slice(first, first + BATCH)
        const together = await runBatch(root, first, batch)
        for (const [at, script] of batch.entries()) {
          // One script that hangs takes its batch with it: the others get another chance, alone.
          const run = together.ended ? together : await runBatch(root, first + at, [script])
          report(script, {
            ended: run.ended,
            calls: run.calls[together.ended ? at : 0] ?? [],
            files: run.files.filter((file) => file.case === first + at),
            programs: run.programs.filter((program) => program.case === first + at),
          })
        }
      }
    }
    await Promise.all(Array.from({ length: WORKERS }, worker))
  } finally {
    rmSync(root, { recursive: true, force: true, maxRetries: 5 })
  }
}

const BATCH = 50
const WORKERS = 8
const TICK_MS = 5000
const MAX_IDLE_TICKS = 6
const MAX_TICKS = 60

/** The only commands there are: markers that log how they were called, and real programs. */
async function writeStubs(root: string): Promise<void> {
  await mkdir(join(root, 'bin'))
  const program = await compiledMarker(root)
  for (const [at, name] of MARKERS.entries())
    await writeFile(join(root, 'bin', name), program ?? markerScript(at), { mode: 0o755 })
  for (const name of [...REAL_PROGRAMS, ...WRITERS])
    await symlink(name === 'bash' ? '/bin/bash' : `/usr/bin/${name}`, join(root, 'bin', name))
}

let marker: Promise<Buffer | undefined> | undefined

/** The marker as a program, which starts ten times as fast as a script; undefined where there is no compiler. */
function compiledMarker(root: string): Promise<Buffer | undefined> {
  const source = join(import.meta.dirname, 'marker.c')
  const out = join(root, 'marker')
  const compile = async (): Promise<Buffer | undefined> => {
    try {
      execFileSync('cc', ['-O1', '-static', '-o', out, source], { stdio: 'pipe' })
      return await readFile(out)
    } catch (error) {
      if (!(error instanceof Error)) throw error
      console.warn(
        `Markers are scripts, which is slower: marker.c could not be compiled (${error.message.split('\n')[0]}).`,
      )
      return undefined
    }
  }
  marker ??= compile()
  return marker
}

function markerScript(at: number): string {
  // One write for each call: several may be logging at once.
  const log = `s=$PWD\u001f\${0##*/}; for a; do s="$s\u001f$a"; done; printf '%s\u001e' "$s" >> "$FUZZ_LOG"`
  return `#!/bin/sh\n${log}\nexit ${at % 2}\n`
}

async function runBatch(
  root: string,
  first: number,
  scripts: readonly string[],
): Promise<Trace & { readonly ended: boolean; readonly calls: readonly Call[][] }> {
  const lines: string[] = []
  for (const [at, script] of scripts.entries()) {
    const id = first + at
    const place = join(root, `c${id}`)
    // Many and small: through the thread pool each would cost ten times as much.
    mkdirSync(join(place, 'd1'), { recursive: true })
    for (const [name, text] of Object.entries(GIVEN_FILES)) writeFileSync(join(place, name), text)
    writeFileSync(join(root, `s${id}`), script)
    writeFileSync(join(root, `l${id}`), '')
    // A log of its own for each: jobs in the background may outlive their script.
    // A path of its own for each: it says in the trace who started a program.
    if (lstatSync(join(root, `p${id}`), { throwIfNoEntry: false }) === undefined)
      symlinkSync('bin', join(root, `p${id}`))
    lines.push(
      `( FUZZ_LOG=${root}/l${id}; HOME=${place}; PATH=${root}/p${id}; FUNCNEST=4; export FUZZ_LOG HOME PATH; cd ${place}`,
    )
    lines.push(`eval "$(<${root}/s${id})"`, ')')
  }
  await writeFile(join(root, `b${first}`), lines.join('\n'))
  const log = join(root, `t${first}`)
  const ended = await runBash(root, join(root, `b${first}`), log)
  const ids = scripts.map((_, at) => first + at)
  return {
    ended,
    ...(canTrace() ? await readTrace(log, root) : await changes(root, ids)),
    calls: ids.map((id) => readLog(join(root, `l${id}`), join(root, `c${id}`))),
  }
}

async function changes(root: string, ids: readonly number[]): Promise<Trace> {
  const found = await Promise.all(ids.map((id) => changedFiles(id, join(root, `c${id}`), GIVEN_FILES)))
  return { files: found.flat(), programs: [] }
}

function readLog(path: string, place: string): Call[] {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  return text
    .split('\u001e')
    .slice(0, -1)
    .map((entry) => {
      const [directory = '', ...argv] = entry.split('\u001f')
      return { argv, cwd: relative(place, directory) || '.' }
    })
}

/** Where bubblewrap works, a script that names a path outside its directory writes nothing there. */
function confined(root: string, argv: readonly [string, ...string[]]): [string, ...string[]] {
  if (!canConfine()) return [...argv]
  return [
    bubblewrap,
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    '--bind',
    root,
    root,
    '--',
    ...argv,
  ]
}

const bubblewrap = '/usr/bin/bwrap'
let confines: boolean | undefined

function canConfine(): boolean {
  confines ??=
    existsSync(bubblewrap) &&
    spawnSync(bubblewrap, ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '/bin/true']).status ===
      0
  return confines
}

/** False when it had to be stopped. Every descendant holds descriptor 3, so its end is the end of all of them. */
function runBash(root: string, file: string, log: string): Promise<boolean> {
  const [program, ...args] = confined(root, traced(log, ['/bin/bash', '--noprofile', '--norc', file]))
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: root,
      // Only what decides how bytes are read: all of a locale would be fifteen files more for each program.
      env: { PATH: join(root, 'bin'), LC_CTYPE: 'C.UTF-8' },
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
    // On a busy machine a batch takes long: it hangs only when nothing was traced for a while.
    let traceSize = -1
    let idle = 0
    let ticks = 0
    const timer = setInterval(() => {
      const size = statSync(log, { throwIfNoEntry: false })?.size ?? -1
      idle = size === traceSize ? idle + 1 : 0
      traceSize = size
      if (idle >= MAX_IDLE_TICKS || ++ticks >= MAX_TICKS) stop()
    }, TICK_MS)
    child.on('error', reject)
    child.on('close', () => {
      clearInterval(timer)
      resolve(!stopped)
    })
  })
}
