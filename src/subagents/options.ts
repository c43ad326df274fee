import type { FeatureContext } from '../feature/feature-context.js'
import type { AskHandler } from '../loop/ask.js'
import type { ChildMaker } from './child-maker.js'
import type { WorkerAgentSpec } from './files/worker-spec.js'

/** Limits and rights of the work that a session gives to subagents. */
export type DelegationOptions = {
  /** Approvals that a user gave for this session also count for its subagents. */
  readonly approvals?: boolean
  /** The variables of `env` that commands of subagents get: all, or those with these names. None by default. */
  readonly env?: boolean | readonly string[]
  /** How many levels of subagents there can be; 5 by default. */
  readonly maxDepth?: number
  /** How many tasks can be unfinished at one time, on all levels together; 64 by default. */
  readonly maxTasks?: number
  /** How long one task can take; ten minutes by default. */
  readonly timeoutMs?: number
}

/** Agents that are asked before the model is, when a prompt sounds like their work. */
export type AutoDelegation = {
  readonly enabled?: boolean
  /** Whether several are asked at the same time. */
  readonly autoParallel?: boolean
  /** False: the model itself cannot give tasks to subagents; there is no `task` and no `parallel_task`. */
  readonly allowManualDelegation?: boolean
  /** From 0 to 1; 0.72 by default. */
  readonly minConfidence?: number
  /** 4 by default. */
  readonly maxTasks?: number
}

export type SubagentFeatureOptions = {
  /** Directories with files of agents that tasks can be given to. */
  readonly agentDirs?: readonly string[]
  readonly workerAgents?: readonly WorkerAgentSpec[]
  /** False: the agents of the project and of the user are not looked for. */
  readonly discoverAgents?: boolean
  readonly delegation?: DelegationOptions
  readonly autoDelegation?: AutoDelegation
  /** False: agents that are asked automatically are asked one after the other, whatever `autoDelegation` says. */
  readonly autoParallel?: boolean
}

/** What the agent hands to its sessions. */
export type SubagentSetup = {
  /** Creates the sessions of subagents; absent: there are none. */
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
