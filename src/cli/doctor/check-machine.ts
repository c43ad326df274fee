import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import type { GroupResource } from '../../workspace/limits/group-places.js'
import { limitMeans } from '../../workspace/limits/open-group.js'
import { doctor } from '../../workspace/sandbox/doctor.js'
import type { Args } from '../args.js'
import { CommandLineError } from '../errors.js'
import type { Io } from '../io.js'
import { type ChosenModel, chooseModel } from '../setup/choose-model.js'
import { isInstalled } from '../setup/is-installed.js'
import { keyedProviders } from '../setup/known-models.js'
import { settingsOf } from '../setup/load-settings.js'
import { userDirOf } from '../setup/user-dir.js'
import { serverFindings } from './servers.js'

/** The result of one check. `warn`: it works, with limitations. */
export type Finding = {
  readonly area: 'node' | 'search' | 'sandbox' | 'limits' | 'config' | 'models' | 'mcp' | 'store'
  readonly state: 'ok' | 'warn' | 'fail'
  readonly message: string
  readonly hint?: string | undefined
}

/** Checks everything that the command depends on. The values of API keys are never printed. */
export async function* checkMachine(args: Args, io: Io): AsyncGenerator<Finding, void, undefined> {
  yield nodeVersion()
  yield await ripgrep()
  const confining = await sandbox()
  yield* confining
  yield await limits()
  yield* await models(args, io)
  yield* await servers(args, io, !confining.some(({ state }) => state !== 'ok'))
  yield await store(args, io)
}

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isEnough = major > 20 || (major === 20 && minor >= 19)
  return isEnough
    ? { area: 'node', state: 'ok', message: `Node ${process.versions.node}` }
    : {
        area: 'node',
        state: 'fail',
        message: `Node ${process.versions.node} is too old`,
        hint: 'Install Node 20.19 or later.',
      }
}

async function ripgrep(): Promise<Finding> {
  try {
    const { rgPath } = await import('@vscode/ripgrep')
    const version = await firstLine(rgPath, ['--version'])
    return { area: 'search', state: 'ok', message: version }
  } catch (error) {
    return {
      area: 'search',
      state: 'warn',
      message: `ripgrep does not run here (${messageOf(error).split('\n')[0]}): search is slower`,
      hint: 'Install the package again on this machine, without --omit=optional.',
    }
  }
}

/** Tests the sandbox by trying to escape from it. */
async function sandbox(): Promise<Finding[]> {
  const [found, ...attempts] = await doctor()
  const state = found?.held ? 'fail' : 'warn'
  const broken = attempts
    .filter(({ held }) => !held)
    .map(({ check, detail }): Finding => ({ area: 'sandbox', state, message: `${check}: ${detail}` }))
  if (!found?.held)
    return [
      {
        area: 'sandbox',
        state: 'warn',
        message: `no sandbox: ${found?.detail ?? 'none was found'}`,
        hint: 'Allowed commands run without a sandbox. To refuse them instead, use --sandbox required.',
      },
      ...broken,
    ]
  if (broken.length > 0) return broken
  return [
    {
      area: 'sandbox',
      state: found.unproven === true ? 'warn' : 'ok',
      message: `${found.detail}; ${attempts.length} escape attempts, all blocked`,
    },
  ]
}

/** Reports how the limits of commands are enforced. */
async function limits(): Promise<Finding> {
  const means = await limitMeans()
  const text = (resource: GroupResource): string =>
    means[resource] === 'measured'
      ? 'measured'
      : means[resource] === 'systemd'
        ? 'scope of systemd'
        : `control group (version ${means[resource]})`
  const message = `memory: ${text('memory')}; processes: ${text('processes')}; CPU time: ${text('cpu')}; disk: file size and measurement`
  const hint = Object.values(means).includes('measured')
    ? 'A measured limit is noticed within about a second. To have the kernel enforce it, run where control groups can be created: in a delegated group (systemd: Delegate=yes), or as root of the machine.'
    : undefined
  return { area: 'limits', state: 'ok', message, hint }
}

/** Reports the configuration, which model is used, and why. */
async function models(args: Args, io: Io): Promise<Finding[]> {
  const findings: Finding[] = []
  try {
    const settings = await settingsOf(args, io)
    for (const message of settings.warnings) findings.push({ area: 'config', state: 'warn', message })
    findings.push({
      area: 'config',
      state: 'ok',
      message: settings.files.length > 0 ? settings.files.join(', ') : 'no configuration file (optional)',
    })
    const named = args.value('model')
    const chosen = await chooseModel({ env: io.env, config: settings.config, named })
    findings.push(modelFinding(chosen, io, named))
  } catch (error) {
    // An unknown model is reported as a problem of the models, not of the configuration.
    const area = findings.some((each) => each.area === 'config' && each.state === 'ok') ? 'models' : 'config'
    const hint = error instanceof CommandLineError ? error.hint : undefined
    findings.push({ area, state: 'fail', message: messageOf(error), hint })
  }
  return findings
}

/** Reports the MCP servers. Returns nothing for a configuration that cannot be read, because `models` reports it. */
async function servers(args: Args, io: Io, hasSandbox: boolean): Promise<Finding[]> {
  try {
    const { config, root, userDir } = await settingsOf(args, io)
    return await serverFindings(config, { root, userDir }, io, hasSandbox)
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
      message:
        'no language model is configured: the built-in offline model is used, which only follows simple rules',
      hint: `Set an API key in the environment (${keyedProviders.map(({ variables }) => variables[0]).join(', ')}), start Ollama, LM Studio or llama.cpp, or declare a model with "capstan init".`,
    }
  const provider = keyedProviders.find((each) => each.provider === name.slice(0, name.indexOf('/')))
  const variable = provider?.variables.find((each) => set.includes(each))
  const why = {
    flag: named === undefined ? 'set by CAPSTAN_MODEL' : 'set by --model',
    config: 'set by the configuration',
    environment: `${variable ?? 'its API key'} is set`,
    local: 'served by this machine',
  }[from]
  const others = set.filter((each) => each !== variable)
  const more = [
    ...(others.length > 0 ? [`other API keys that are set: ${others.join(', ')}`] : []),
    ...(from === 'environment' || from === 'local' ? ['choose another with --model or default_model'] : []),
    ...(provider?.own !== undefined && from !== 'config' && !isInstalled(provider.own.package)
      ? [`${provider.own.package} is not installed, so the chat completions protocol is used`]
      : []),
  ]
  return {
    area: 'models',
    state: 'ok',
    message: `${name} (${why})`,
    hint: more.length > 0 ? `${more.join('; ')}.` : undefined,
  }
}

async function store(args: Args, io: Io): Promise<Finding> {
  const named = args.value('store')
  const place = named === undefined ? join(userDirOf(io), 'sessions') : join(io.cwd, named)
  try {
    const directory = await nearestDirectory(place)
    // The only reliable test: create a directory next to the sessions, and remove it.
    await rm(await mkdtemp(join(directory, '.capstan-doctor-')), { recursive: true })
    const count =
      directory === place ? (await readdir(place)).filter((name) => !name.startsWith('.')).length : 0
    return {
      area: 'store',
      state: 'ok',
      message: `${place} is writable; ${count} ${count === 1 ? 'session' : 'sessions'}`,
    }
  } catch (error) {
    return {
      area: 'store',
      state: 'fail',
      message: `${place} is not writable: ${messageOf(error)}`,
      hint: 'Choose another place with --store or CAPSTAN_HOME.',
    }
  }
}

/** The store's directory, or the nearest existing parent in which it would be created. */
async function nearestDirectory(place: string): Promise<string> {
  for (let path = place; ; path = dirname(path)) {
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory()) return path
    // The store itself can be a file: a database.
    if (found !== undefined && path !== place) throw new Error(`${path} is not a directory`)
    if (path === dirname(path)) throw new Error('no such directory')
  }
}

function firstLine(file: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(file, [...args], { timeout: 10_000 }, (error, stdout) =>
      error === null ? resolve(stdout.split('\n')[0] ?? '') : reject(error),
    )
  })
}
