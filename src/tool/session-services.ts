import type { ToolDefinition } from './definition.js'
import type { Envelope } from './envelope.js'
import type { JsonValue } from './json.js'

/**
 * The session that a call belongs to, as far as tools can use it. A host provides the services that it has. Higher
 * layers add theirs to this interface, each next to the code that owns it:
 * `declare module '…/tool/session-services.js' { interface RuntimeSession { … } }`.
 */
export interface RuntimeSession {
  /** Asks the user questions and waits for the answers. Absent: no user can answer. */
  readonly ask?: (questions: readonly Question[], signal?: AbortSignal) => Promise<QuestionAnswers>
  readonly tools?: RuntimeTools
  /** Saves the steps of this call while it runs. Absent: the call cannot be resumed. */
  readonly steps?: (() => CallSteps) | undefined
}

/** A question of the model to the user. */
export type Question = {
  readonly question: string
  /** A short heading. */
  readonly header?: string
  readonly options?: readonly { readonly label: string; readonly description?: string }[]
  readonly multi_select?: boolean
}

/** One list of answers per question, in the order of the questions. */
export type QuestionAnswers = { readonly answers: readonly (readonly string[])[] }

/** The other tools of the session, called from inside a call. */
export interface RuntimeTools {
  /**
   * Makes further calls as part of this one; each passes the gate with the caller's authority. At most
   * `maxConcurrency` run at once, and those that write the same things run one after the other. The envelopes are in
   * the order of the invocations. A failed call does not reject: its envelope reports the failure.
   */
  callAll(
    invocations: readonly Invocation[],
    options?: {
      readonly maxConcurrency?: number
      readonly signal?: AbortSignal
      readonly watch?: CallWatch
    },
  ): Promise<readonly Envelope[]>
  /** Returns whether the tool has a form for code: `read` returns a file's plain text, `glob` the list of paths. */
  hasDataForm?(tool: string): boolean
  /** Returns the tools that are not shown to the model; the same array as long as nothing has changed. */
  hidden(): readonly ToolDefinition[]
  /**
   * Returns the tools that are not shown to the model and those of them that were shown since: the same array until
   * tools are added or removed, so an index of it stays valid. Default: `hidden`.
   */
  searchable?(): readonly ToolDefinition[]
  /** Shows tools to the model from the next round on, after those it already sees. */
  offer(names: readonly string[]): void
}

/** A call of another tool from inside a call. */
export type Invocation = {
  readonly tool: string
  readonly args: unknown
  /** Identifies the call among those made inside one call: when that call runs again, it has the same id. */
  readonly id?: string
  /** `data`: the result is for code, not for a model, if `hasDataForm` is true. Judged like the tool itself. */
  readonly form?: 'data'
}

/** Observes calls while they run. */
export interface CallWatch {
  /** Called with true when all remaining calls wait for an approval, and with false when they no longer do. */
  waiting(waits: boolean): void
}

/** The steps of a resumable call so far: saved in the log until the call has its result. */
export interface CallSteps {
  /** The steps of this call that an earlier process saved, in order. */
  readonly before: readonly CallStep[]
  /** Ids of inner calls that had started then and must not run twice. */
  readonly begun: readonly string[]
  /** Resolves when these steps and all earlier ones are saved. */
  add(steps: readonly CallStep[]): Promise<void>
}

/** One recorded step of a resumable call. */
export type CallStep = {
  /** The id of the inner call that ended with this step. */
  readonly ends?: string
  readonly step: JsonValue
}
