import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { ifReadable, textIfReadable } from '../if-readable.js'
import { readProcess } from '../shell/process-table.js'
import { type ControlGroup, type GroupUsage, killIn, usageIn } from './control-group.js'
import { defaultLimits, type ResourceLimits } from './resource-limits.js'

/** A service manager (systemd) that starts commands in scopes: control groups that it creates, limits and removes. */
export type ScopeManager = {
  /** The options that select it, for `systemd-run` and `systemctl`. */
  readonly options: readonly string[]
  /** The directory of its socket, for the manager of a user. */
  readonly runtimeDir?: string | undefined
}

let answering: Promise<ScopeManager | undefined> | undefined

/**
 * Returns the service manager that enforces limits here: that of the machine for root, otherwise that of the user. It
 * is tested first: a process is started in a scope, and the limits must be in the files of its group. Tested once per
 * process.
 */
export function scopeManager(): Promise<ScopeManager | undefined> {
  answering ??= findManager()
  return answering
}

async function findManager(): Promise<ScopeManager | undefined> {
  // This directory exists exactly if systemd started the machine.
  if (!existsSync('/run/systemd/system')) return undefined
  const user = process.getuid?.()
  const manager: ScopeManager =
    user === 0
      ? { options: [] }
      : { options: ['--user'], runtimeDir: process.env['XDG_RUNTIME_DIR'] ?? `/run/user/${user}` }
  return (await doesHold(manager)) ? manager : undefined
}

const resources = ['memory', 'processes', 'cpu'] as const

/** Whether a process that is started in a scope is in a version 2 group with the requested limits. */
async function doesHold(manager: ScopeManager): Promise<boolean> {
  const scope = createScope(manager, { memoryBytes: 2 ** 30, processes: 100 })
  const [file, ...args] = scope.start(['/bin/sh', '-c', 'echo started; read line'])
  const child = spawn(file, args, { cwd: '/', env: { PATH: searchPath }, stdio: ['pipe', 'pipe', 'ignore'] })
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
  try {
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
    const directory = child.pid === undefined ? undefined : directoryOf(child.pid, scope.unit)
    if (directory === undefined) return false
    return (
      textIfReadable(`${directory}/memory.max`) === `${2 ** 30}\n` &&
      textIfReadable(`${directory}/pids.max`) === '100\n'
    )
  } catch {
    // The program or the manager does not exist.
    return false
  } finally {
    clearTimeout(timer)
    child.kill('SIGKILL')
    await scope.remove()
  }
}

const searchPath = '/usr/local/bin:/usr/bin:/bin'

let count = 0

/** Prepares a scope with limits. The manager creates it when the command is started. */
export function createScope(
  manager: ScopeManager,
  limits: Pick<ResourceLimits, 'memoryBytes' | 'processes'>,
): ControlGroup & { readonly unit: string } {
  const unit = `capstan-${process.pid}-${readProcess(process.pid)?.startTime ?? '0'}-${++count}.scope`
  let leader: number | undefined
  let directory: string | undefined
  let last: GroupUsage = {}
  const find = (): string | undefined => {
    if (directory === undefined && leader !== undefined) directory = directoryOf(leader, unit)
    return directory
  }
  return {
    unit,
    resources,
    start: (argv) => [
      '/usr/bin/env',
      ...variables(manager),
      'systemd-run',
      ...manager.options,
      ...words(unit, limits),
      '--',
      ...clean,
      ...argv,
    ],
    entered(pid) {
      leader = pid
    },
    usage() {
      const place = find()
      if (place !== undefined && existsSync(place)) last = usageIn({ version: 2, resources }, place)
      // The manager removes an empty group at once, and reports why it ended.
      else if (last.memoryKills === 0 && wasOutOfMemory(manager, unit)) last = { ...last, memoryKills: 1 }
      return last
    },
    kill() {
      const place = find()
      if (place !== undefined) killIn({ version: 2 }, place)
    },
    async remove() {
      // systemd stores a failed scope until it is reset. For a scope that has ended, these commands do nothing.
      for (const verb of ['kill', 'reset-failed'])
        await systemctl(manager, [...(verb === 'kill' ? ['kill', '--signal=KILL'] : [verb]), unit])
    },
  }
}

/** `systemd-run` sets these variables; they are removed, because a command gets only its own environment. */
const clean = ['/usr/bin/env', '-u', 'XDG_RUNTIME_DIR', '-u', 'INVOCATION_ID']

function variables({ runtimeDir }: ScopeManager): string[] {
  return runtimeDir === undefined ? [] : [`XDG_RUNTIME_DIR=${runtimeDir}`]
}

function words(
  unit: string,
  { memoryBytes, processes }: Pick<ResourceLimits, 'memoryBytes' | 'processes'>,
): string[] {
  const properties = ['MemoryAccounting=yes', 'TasksAccounting=yes', 'CPUAccounting=yes', 'TasksMax=infinity']
  if (memoryBytes !== undefined) {
    properties.push(`MemoryMax=${Math.trunc(memoryBytes)}`)
    // A limit below the default applies to swap too.
    if (memoryBytes < defaultLimits().memoryBytes) properties.push('MemorySwapMax=0')
  }
  if (processes !== undefined) properties.push(`TasksMax=${Math.trunc(processes)}`)
  return ['--scope', '--quiet', `--unit=${unit}`, ...properties.flatMap((property) => ['-p', property])]
}

/** The directory of the scope's group; undefined until the process is in it. */
function directoryOf(pid: number, unit: string): string | undefined {
  const path = /^0::(\/.*)$/m.exec(textIfReadable(`/proc/${pid}/cgroup`) ?? '')?.[1]
  return path?.split('/').includes(unit) === true ? `/sys/fs/cgroup${path}` : undefined
}

function wasOutOfMemory(manager: ScopeManager, unit: string): boolean {
  const said = ifReadable(() =>
    execFileSync('systemctl', [...manager.options, 'show', '--property=Result', '--value', unit], {
      env: environment(manager),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 5_000,
    }),
  )
  return said?.trim() === 'oom-kill'
}

async function systemctl(manager: ScopeManager, args: readonly string[]): Promise<void> {
  const options = { env: environment(manager), timeout: 5_000 }
  await promisify(execFile)('systemctl', [...manager.options, ...args], options).catch(() => undefined)
}

function environment({ runtimeDir }: ScopeManager): Record<string, string> {
  return { PATH: searchPath, ...(runtimeDir !== undefined && { XDG_RUNTIME_DIR: runtimeDir }) }
}
