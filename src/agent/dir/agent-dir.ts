import type { ProgramLimits } from '../../program/machine/limits.js'
import type { JsonObject } from '../../tool/json.js'

/** What happens to a fire that is due while the one before it is still at work: it is left out, or it waits its turn. */
export const overlapPolicies = ['skip', 'queue'] as const
export type OverlapPolicy = (typeof overlapPolicies)[number]

/** What happens to fires that were due while nobody served: nothing, the last of them is made up for, or all are. */
export const catchUpPolicies = ['none', 'last', 'all'] as const
export type CatchUpPolicy = (typeof catchUpPolicies)[number]

/** One `schedules/*.md`. */
export type ScheduleDefinition = {
  readonly name: string
  readonly file: string
  readonly enabled: boolean
  readonly cron: string
  /** Of the time zone database, such as `Europe/Berlin`. */
  readonly timeZone: string
  readonly overlap: OverlapPolicy
  readonly catchUp: CatchUpPolicy
  /** A fire begins up to this much later than it is due, a different time on each machine. */
  readonly jitterMs: number
  /** How long one fire may take. */
  readonly timeoutMs?: number
  /** What the model is told when it fires. */
  readonly prompt: string
}

/** One `tools/*.md`. What an MCP server is started with may hold secrets, and is not among it. */
export type AgentDirTool =
  | {
      readonly kind: 'mcp'
      readonly name: string
      readonly file: string
      readonly transport: string
      readonly enabled: boolean
      readonly description: string
    }
  | ScriptToolDefinition

/** A program whose source, tools and limits a file has fixed: a model gives it nothing but its inputs. */
export type ScriptToolDefinition = {
  readonly kind: 'script'
  readonly name: string
  readonly file: string
  readonly description: string
  /** From the root of the workspace. */
  readonly path: string
  readonly allowedTools: readonly string[]
  readonly limits: Partial<ProgramLimits>
  /** The JSON Schema of its inputs; absent: any object. */
  readonly inputs?: JsonObject
}

/** An agent as a directory, read and found to be in order. */
export type AgentDir = {
  /** The real path. */
  readonly path: string
  readonly name: string
  readonly instructions: string
  /** What `agent.acl` says, with every secret hidden. */
  readonly config?: Readonly<Record<string, unknown>>
  /** The names of its skills. */
  readonly skills: readonly string[]
  readonly schedules: readonly ScheduleDefinition[]
  readonly tools: readonly AgentDirTool[]
  /** What is odd about it and does no harm, a sentence each. */
  readonly warnings: readonly string[]
}
