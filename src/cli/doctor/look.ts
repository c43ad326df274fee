import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { workspaceRoot } from '../../agent/workspace-root.js'
import { messageOf } from '../../tool/errors.js'
import { doctor } from '../../workspace/sandbox/doctor.js'
import type { Args } from '../args.js'
import type { Io } from '../io.js'
import { chooseModel } from '../setup/choose-model.js'
import { isInstalled } from '../setup/is-installed.js'
import { keyedProviders } from '../setup/known-models.js'
import { loadSettings } from '../setup/load-settings.js'
import { userDirOf } from '../setup/user-dir.js'

/** One thing that was looked at. `warn`: it works, with less. */
export type Finding = {
  readonly area: 'node' | 'search' | 'sandbox' | 'config' | 'models' | 'store'
  readonly state: 'ok' | 'warn' | 'fail'
  readonly says: string
  readonly hint?: string
}

/** Looks at everything the command depends on. Values of keys are never read out. */
export async function* look(args: Args, io: Io): AsyncGenerator<Finding, void, undefined> {
  yield nodeVersion()
  yield await ripgrep()
  yield* await sandbox()
  yield* await models(args, io)
  yield await store(args, io)
}

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isEnough = major > 20 || (major === 20 && minor >= 19)
  return isEnough
    ? { area: 'node', state: 'ok', says: `Node ${process.versions.node}` }
    : {
        area: 'node',
        state: 'fail',
        says: `Node ${process.versions.node} is too old`,
        hint: 'Install Node 20.19 or later.',
      }
}

async function ripgrep(): Promise<Finding> {
  try {
    const { rgPath } = await import('@vscode/ripgrep')
    const version = await firstLine(rgPath, ['--version'])
    return { area: 'search', state: 'ok', says: version }
  } catch (error) {
    return {
      area: 'search',
      state: 'warn',
      says: `ripgrep does not run here (${messageOf(error).split('\n')[0]}): searching is slower`,
      hint: 'Install again without --omit=optional, on this machine.',
    }
  }
}

/** Tried, not asked: the doctor tries to break out of it. */
async function sandbox(): Promise<Finding[]> {
  const checks = await doctor()
  const [found] = checks
  if (found === undefined || !found.held)
    return [
      {
        area: 'sandbox',
        state: 'warn',
        says: `there is no sandbox: ${found?.detail ?? 'nothing was found'}`,
        hint: 'Commands run without one when they are allowed; --sandbox required refuses them instead.',
      },
    ]
  const broken = checks.filter(({ held }) => !held)
  if (broken.length > 0)
    return broken.map(
      ({ check, detail }) => ({ area: 'sandbox', state: 'fail', says: `${check}: ${detail}` }) as const,
    )
  return [
    {
      area: 'sandbox',
      state: 'ok',
      says: `${found.detail}; ${checks.length - 1} ways out were tried, and all held`,
    },
  ]
}

async function models(args: Args, io: Io): Promise<Finding[]> {
  const findings: Finding[] = []
  const keys = keyedProviders.flatMap(({ variables }) => variables)
  const set = keys.filter((name) => (io.env[name] ?? '').trim() !== '')
  findings.push({
    area: 'models',
    state: 'ok',
    says:
      set.length > 0
        ? `keys in the environment: ${set.join(', ')}`
        : `no key in the environment (looked for ${keys.join(', ')})`,
  })
  const missing = keyedProviders.flatMap(({ own, variables }) =>
    own !== undefined && variables.some((name) => set.includes(name)) && !isInstalled(own.package)
      ? [own.package]
      : [],
  )
  if (missing.length > 0)
    findings.push({
      area: 'models',
      state: 'warn',
      says: `${missing.join(', ')} is not installed: the provider is spoken to by chat completions`,
    })
  try {
    const place = { root: workspaceRoot(args.value('directory') ?? '.', io.cwd), userDir: userDirOf(io) }
    const settings = await loadSettings(place, io, args.value('config'))
    for (const says of settings.warnings) findings.push({ area: 'config', state: 'warn', says })
    findings.push({
      area: 'config',
      state: 'ok',
      says: settings.files.length > 0 ? settings.files.join(', ') : 'no configuration file; none is needed',
    })
    const { name, from, says } = await chooseModel({
      env: io.env,
      config: settings.config,
      named: args.value('model'),
    })
    findings.push({
      area: 'models',
      state: from === 'offline' ? 'warn' : 'ok',
      says: says ?? `model: ${name}`,
    })
  } catch (error) {
    findings.push({ area: 'config', state: 'fail', says: messageOf(error) })
  }
  return findings
}

async function store(args: Args, io: Io): Promise<Finding> {
  const named = args.value('store')
  const place = named === undefined ? join(userDirOf(io), 'sessions') : join(io.cwd, named)
  try {
    const directory = await nearestDirectory(place)
    // The only proof that can be had: a directory beside the sessions, gone again at once.
    await rm(await mkdtemp(join(directory, '.capstan-doctor-')), { recursive: true })
    const count =
      directory === place ? (await readdir(place)).filter((name) => !name.startsWith('.')).length : 0
    return { area: 'store', state: 'ok', says: `${place} can be written; ${count} session(s)` }
  } catch (error) {
    return {
      area: 'store',
      state: 'fail',
      says: `${place} cannot be written: ${messageOf(error)}`,
      hint: 'Name another place with --store or CAPSTAN_HOME.',
    }
  }
}

/** Where the store would be made, when it is not there yet. */
async function nearestDirectory(place: string): Promise<string> {
  for (let path = place; ; path = dirname(path)) {
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory()) return path
    // The store itself may be a file: a database.
    if (found !== undefined && path !== place) throw new Error(`${path} is not a directory`)
    if (path === dirname(path)) throw new Error('there is no such directory')
  }
}

function firstLine(file: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(file, [...args], { timeout: 10_000 }, (error, stdout) =>
      error === null ? resolve(stdout.split('\n')[0] ?? '') : reject(error),
    )
  })
}
