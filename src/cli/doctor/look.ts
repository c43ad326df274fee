import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { workspaceRoot } from '../../agent/workspace-root.js'
import { messageOf } from '../../tool/errors.js'
import { doctor } from '../../workspace/sandbox/doctor.js'
import type { Args } from '../args.js'
import { CommandLineError } from '../errors.js'
import type { Io } from '../io.js'
import { type ChosenModel, chooseModel } from '../setup/choose-model.js'
import { isInstalled } from '../setup/is-installed.js'
import { keyedProviders } from '../setup/known-models.js'
import { loadSettings } from '../setup/load-settings.js'
import { userDirOf } from '../setup/user-dir.js'
import { serverFindings } from './servers.js'

/** One thing that was looked at. `warn`: it works, with less. */
export type Finding = {
  readonly area: 'node' | 'search' | 'sandbox' | 'config' | 'models' | 'mcp' | 'store'
  readonly state: 'ok' | 'warn' | 'fail'
  readonly says: string
  readonly hint?: string
}

/** Looks at everything the command depends on. Values of keys are never read out. */
export async function* look(args: Args, io: Io): AsyncGenerator<Finding, void, undefined> {
  yield nodeVersion()
  yield await ripgrep()
  const confining = await sandbox()
  yield* confining
  yield* await models(args, io)
  yield* await servers(args, io, !confining.some(({ state }) => state !== 'ok'))
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
  if (found === undefined || !found.held) {
    const without = checks.slice(1).filter(({ held }) => !held)
    return [
      {
        area: 'sandbox',
        state: 'warn',
        says: `there is no sandbox: ${found?.detail ?? 'nothing was found'}`,
        hint: 'Commands run without one when they are allowed; --sandbox required refuses them instead.',
      },
      ...without.map(
        ({ check, detail }) => ({ area: 'sandbox', state: 'warn', says: `${check}: ${detail}` }) as const,
      ),
    ]
  }
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

/** One line for the configuration, and one for the model that would be asked: which, why, and how. */
async function models(args: Args, io: Io): Promise<Finding[]> {
  const findings: Finding[] = []
  try {
    const place = { root: workspaceRoot(args.value('directory') ?? '.', io.cwd), userDir: userDirOf(io) }
    const settings = await loadSettings(place, io, args.value('config'))
    for (const says of settings.warnings) findings.push({ area: 'config', state: 'warn', says })
    findings.push({
      area: 'config',
      state: 'ok',
      says: settings.files.length > 0 ? settings.files.join(', ') : 'no configuration file; none is needed',
    })
    const named = args.value('model')
    const chosen = await chooseModel({ env: io.env, config: settings.config, named })
    findings.push(modelFinding(chosen, io, named))
  } catch (error) {
    // Whoever names a model that is not there has a configuration that is in order.
    const area = findings.some((each) => each.area === 'config' && each.state === 'ok') ? 'models' : 'config'
    const hint = error instanceof CommandLineError ? error.hint : undefined
    findings.push({ area, state: 'fail', says: messageOf(error), ...(hint !== undefined && { hint }) })
  }
  return findings
}

/** A configuration that cannot be read is reported with the models. */
async function servers(args: Args, io: Io, hasSandbox: boolean): Promise<Finding[]> {
  try {
    const place = { root: workspaceRoot(args.value('directory') ?? '.', io.cwd), userDir: userDirOf(io) }
    const { config } = await loadSettings(place, io, args.value('config'))
    return await serverFindings(config, place, io, hasSandbox)
  } catch {
    return []
  }
}

function modelFinding({ name, from }: ChosenModel, { env }: Io, named: string | undefined): Finding {
  const set = keyedProviders
    .flatMap(({ variables }) => variables)
    .filter((variable) => (env[variable] ?? '').trim() !== '')
  if (from === 'offline')
    return {
      area: 'models',
      state: 'warn',
      says: 'no language model: the offline one answers, which only follows simple rules',
      hint: `Set a key in the environment (${keyedProviders.map(({ variables }) => variables[0]).join(', ')}), start Ollama, LM Studio or llama.cpp, or declare a model with "capstan init".`,
    }
  const provider = keyedProviders.find((each) => each.provider === name.slice(0, name.indexOf('/')))
  const variable = provider?.variables.find((each) => set.includes(each))
  const why = {
    flag: named === undefined ? 'CAPSTAN_MODEL says so' : '--model says so',
    config: 'the configuration says so',
    environment: `${variable ?? 'its key'} is set`,
    local: 'a server on this machine has it',
  }[from]
  const others = set.filter((each) => each !== variable)
  const more = [
    ...(others.length > 0 ? [`other keys that are set: ${others.join(', ')}`] : []),
    ...(from === 'environment' || from === 'local' ? ['--model or default_model chooses another'] : []),
    ...(provider?.own !== undefined && from !== 'config' && !isInstalled(provider.own.package)
      ? [`${provider.own.package} is not installed, so it is spoken to by chat completions`]
      : []),
  ]
  return {
    area: 'models',
    state: 'ok',
    says: `${name}, since ${why}`,
    ...(more.length > 0 && { hint: `${more.join('; ')}.` }),
  }
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
