import { isRecord } from '../../tool/json.js'
import type { AgentConfig } from '../config/config.js'

/** Of two that both set a limit the tighter one holds. */
const limits = [
  ...([
    'maxToolRounds',
    'maxParallelTasks',
    'thinkingBudget',
    'llmApiTimeoutMs',
    'circuitBreakerThreshold',
    'projectDocMaxBytes',
  ] as const),
  ...(['autoParallel', 'autoDelegation', 'taskScheduler', 'queue'] as const),
]

/**
 * The configuration of a host with what an agent directory says on top. What a directory names it adds or puts in front; a limit of the
 * host it can only make tighter. Of storage it says all or nothing, since half of one place and half of another is no place.
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
    ...(skillDirs !== undefined && { skillDirs }),
    ...(agentDirs !== undefined && { agentDirs }),
    ...Object.fromEntries(
      limits.flatMap((name) => {
        const limit = tighter(name, host[name], own[name])
        return limit === undefined ? [] : [[name, limit]]
      }),
    ),
  }
}

/** The smaller number, what both allow, and field by field what both say; of words, such as who does the calls, those of the host. */
function tighter(name: string, host: unknown, own: unknown): unknown {
  if (host === undefined || own === undefined) return host ?? own
  if (typeof host === 'number' && typeof own === 'number')
    return /^min[A-Z]/.test(name) ? Math.max(host, own) : Math.min(host, own)
  if (typeof host === 'boolean' && typeof own === 'boolean') return host && own
  if (!isRecord(host) || !isRecord(own)) return host
  const names = new Set([...Object.keys(host), ...Object.keys(own)])
  return Object.fromEntries([...names].map((each) => [each, tighter(each, host[each], own[each])]))
}

/** Whether a configuration says where sessions are kept. */
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
