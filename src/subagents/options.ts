import type { FeatureContext } from '../feature/feature-context.js'
import type { AskHandler } from '../loop/ask.js'
import type { ChildMaker } from './child-maker.js'
import type { WorkerAgentSpec } from './files/worker-spec.js'

/** Limits and permissions of the tasks that a session gives to subagents. */
export type DelegationOptions = {
  /** Whether approvals that a user gave for this session also count for its subagents. */
  readonly approvals?: boolean
  /** The variables of `env` that commands of subagents get: all, or those with these names. Default: none. */
  readonly env?: boolean | readonly string[]
  /** The maximum depth of subagents. Default: 5. */
  readonly maxDepth?: number
  /** The maximum number of unfinished tasks, on all levels together. Default: 64. */
  readonly maxTasks?: number
  /** The time limit of one task, in milliseconds. Default: ten minutes. */
  readonly timeoutMs?: number
}

/** Agents that are consulted before the model when a prompt matches their description. */
export type AutoDelegation = {
  readonly enabled?: boolean
  /** Whether several agents run at the same time. */
  readonly autoParallel?: boolean
  /** `false`: the model cannot start subagents; the tools `task` and `parallel_task` are not offered. */
  readonly allowManualDelegation?: boolean
  /** The minimum confidence of a match, from 0 to 1. Default: 0.72. */
  readonly minConfidence?: number
  /** The maximum number of agents. Default: 4. */
  readonly maxTasks?: number
}

export type SubagentFeatureOptions = {
  /** Directories with files of agents that tasks can be given to. */
  readonly agentDirs?: readonly string[]
  readonly workerAgents?: readonly WorkerAgentSpec[]
  /** False: agents of the project and of the user are not discovered. */
  readonly discoverAgents?: boolean
  readonly delegation?: DelegationOptions
  readonly autoDelegation?: AutoDelegation
  /** False: automatically consulted agents run one after the other, regardless of `autoDelegation`. */
  readonly autoParallel?: boolean
}

/** What the agent passes to its sessions. */
export type SubagentSetup = {
  /** Creates the sessions of subagents; absent: subagents are not available. */
  readonly children?: ChildMaker | undefined
}

export type SubagentSession = FeatureContext<
  SubagentFeatureOptions & {
    readonly maxParallelTasks?: number
    readonly retentionLimits?: { readonly maxTerminalSubagentTasks?: number | null }
    readonly onAsk?: AskHandler
    readonly confirmationPolicy?: { readonly enabled?: boolean }
  },
  SubagentSetup
>
