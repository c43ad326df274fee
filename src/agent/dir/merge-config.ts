import { isRecord } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { AgentConfig } from '../config/config.js'
import { stricterConfinement } from '../config/stricter-confinement.js'

/** The fields that are limits: if both configurations set one, the stricter value is used. */
const limits = [
  ...([
    'maxToolRounds',
    'maxParallelTasks',
    'thinkingBudget',
    'reasoningEffort',
    'llmApiTimeoutMs',
    'circuitBreakerThreshold',
    'projectDocMaxBytes',
  ] as const),
  ...(['autoParallel', 'autoDelegation', 'taskScheduler', 'queue'] as const),
]

/**
 * Merges the configuration of an agent directory into that of the host. The directory's providers, servers and
 * directories come first; it can only tighten limits of the host. Its storage fields replace those of the host as a
 * group.
 */
export function mergeConfig(host: AgentConfig, own: AgentConfig | undefined): AgentConfig {
  if (own === undefined) return host
  const { storageBackend, storageUrl, sessionsDir, ...rest } = host
  const skillDirs = joined(own.skillDirs, host.skillDirs)
  const agentDirs = joined(own.agentDirs, host.agentDirs)
  return {
    ...(hasStorage(own) ? rest : host),
    ...own,
    providers: inFront(own.providers, host.providers),
    mcpServers: inFront(own.mcpServers, host.mcpServers),
    ...omitUndefined({
      skillDirs,
      agentDirs,
      goal: mergedGoal(host.goal, own.goal),
      ...stricterConfinement(host, own),
    }),
    ...Object.fromEntries(
      limits.flatMap((name) => {
        const limit = tighter(name, host[name], own[name])
        return limit === undefined ? [] : [[name, limit]]
      }),
    ),
  }
}

/** The goal of the directory, restricted by the limits of the host's goal. */
function mergedGoal(host: AgentConfig['goal'], own: AgentConfig['goal']): AgentConfig['goal'] {
  if (host === undefined || own === undefined) return own ?? host
  const limited = (['maxRounds', 'maxTimeMs', 'maxCostUsd'] as const).flatMap((name) => {
    const limit = tighter(name, host[name], own[name])
    return limit === undefined ? [] : [[name, limit]]
  })
  return { ...own, ...Object.fromEntries(limited) }
}

/**
 * The stricter of two values: the smaller number, true only if both are true, objects field by field, else the value of
 * the host.
 */
function tighter(name: string, host: unknown, own: unknown): unknown {
  if (host === undefined || own === undefined) return host ?? own
  if (typeof host === 'number' && typeof own === 'number')
    return /^min[A-Z]/.test(name) ? Math.max(host, own) : Math.min(host, own)
  if (typeof host === 'boolean' && typeof own === 'boolean') return host && own
  if (!isRecord(host) || !isRecord(own)) return host
  const names = new Set([...Object.keys(host), ...Object.keys(own)])
  return Object.fromEntries([...names].map((each) => [each, tighter(each, host[each], own[each])]))
}

/** Whether a configuration sets the storage of sessions. */
export function hasStorage({ storageBackend, storageUrl, sessionsDir }: AgentConfig): boolean {
  return storageBackend !== undefined || storageUrl !== undefined || sessionsDir !== undefined
}

function inFront<T extends { readonly name: string }>(own: readonly T[], host: readonly T[]): readonly T[] {
  return [...own, ...host.filter(({ name }) => own.every((one) => one.name !== name))]
}

function joined(
  own: readonly string[] | undefined,
  host: readonly string[] | undefined,
): readonly string[] | undefined {
  return own === undefined && host === undefined ? undefined : [...(own ?? []), ...(host ?? [])]
}
