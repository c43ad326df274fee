import type { ProgramLimits } from '../../program/machine/limits.js'
import type { JsonObject } from '../../tool/json.js'

/** What happens to a fire that is due while the previous one is still running: it is skipped or queued. */
export const overlapPolicies = ['skip', 'queue'] as const
/** One of {@link overlapPolicies}. */
export type OverlapPolicy = (typeof overlapPolicies)[number]

/** Which missed fires are made up for, after the directory was not served: none, the last one or all. */
export const catchUpPolicies = ['none', 'last', 'all'] as const
/** One of {@link catchUpPolicies}. */
export type CatchUpPolicy = (typeof catchUpPolicies)[number]

/** One `schedules/*.md`. */
export type ScheduleDefinition = {
  readonly name: string
  readonly file: string
  readonly enabled: boolean
  /** The cron pattern; absent for a schedule that has only other triggers. */
  readonly cron?: string
  /** Patterns of files in the workspace whose changes fire it. */
  readonly watch?: readonly string[]
  /** The environment variable with the secret of its webhook; absent if it has no webhook. */
  readonly webhookSecret?: string
  /** How many wake-ups its model can request between two other fires; absent: none. */
  readonly wakeUps?: number
  /** A name of the time zone database, such as `Europe/Berlin`. */
  readonly timeZone: string
  readonly overlap: OverlapPolicy
  readonly catchUp: CatchUpPolicy
  /** The maximum random delay of a fire, which differs between machines. */
  readonly jitterMs: number
  /** The time limit of a fire. */
  readonly timeoutMs?: number
  /** The prompt of a fire. */
  readonly prompt: string
}

/** One `tools/*.md`. Arguments and variables of an MCP server are not included: they can contain secrets. */
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

/** A program whose source, tools and limits are set by a file. The model only provides its inputs. */
export type ScriptToolDefinition = {
  readonly kind: 'script'
  readonly name: string
  readonly file: string
  readonly description: string
  /** The path of the script, relative to the workspace. */
  readonly path: string
  readonly allowedTools: readonly string[]
  readonly limits: Partial<ProgramLimits>
  /** The JSON Schema of its inputs (default: any object). */
  readonly inputs?: JsonObject
}

/** A valid agent directory. */
export type AgentDir = {
  /** The real path of the directory. */
  readonly path: string
  readonly name: string
  readonly instructions: string
  /** The configuration of `agent.acl`, with every secret masked. */
  readonly config?: Readonly<Record<string, unknown>>
  /** The names of its skills. */
  readonly skills: readonly string[]
  readonly schedules: readonly ScheduleDefinition[]
  readonly tools: readonly AgentDirTool[]
  /** Warnings about the directory. */
  readonly warnings: readonly string[]
}
