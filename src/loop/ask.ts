import type { RuleSuggestion } from '../authority/approval-key.js'
import type { Rule } from '../authority/rule.js'
import type { RunIdentity } from '../tool/contract.js'
import type { Subject } from '../tool/subject.js'

/** Everything a user needs to decide about one call. */
export type AskRequest = {
  /** The id of the question. Answers name it. */
  readonly id: string
  /** A digest of tool, arguments, workspace, session and agent: only the same question has the same key. */
  readonly key: string
  /** The provider's id of the call, if it has one. */
  readonly toolCallId?: string | undefined
  readonly toolName: string
  /** The exact arguments that run after an approval. */
  readonly args: unknown
  readonly subjects: readonly Subject[]
  /** Why approval is needed: the rules, the watchdog, the tool's own policy. */
  readonly reasons: readonly string[]
  /**
   * Those of `reasons` that only say that no rule covers a command, for a user interface that shows the commands
   * anyway.
   */
  readonly uncoveredCommands?: readonly string[] | undefined
  /** The rules that require the approval. */
  readonly rules: readonly Rule[]
  /** Further facts for the user, such as that a file is executed automatically later. */
  readonly notes: readonly string[]
  /** The changes to files, for tools that can preview them. */
  readonly diff?: string | undefined
  /** The rules that `session` or `always` would add; absent when none is safe to offer. */
  readonly suggestion?: readonly Rule[] | undefined
  /**
   * The rules that would allow the same call, also when `suggestion` has none, or why no rule can. Absent when
   * something other than rules requires the approval.
   */
  readonly advice?: RuleSuggestion | undefined
  /** A user must answer: no lane and no time-out can approve the call instead. */
  readonly inPerson?: boolean | undefined
  /** The agent that makes the call: a question of a subagent names the subagent. */
  readonly run?: RunIdentity | undefined
}

/** A user's answer to a request for approval. Anything but a known decision is a rejection. */
export type AskAnswer = {
  /** `session` and `always` add the suggested rule, for this session or for the project. */
  readonly decision: 'once' | 'session' | 'always' | 'reject'
  /** Why the user rejects the call; the model reads it. */
  readonly message?: string | undefined
  /** Who answered, for the log. */
  readonly by?: string | undefined
  /** No user decided (a time-out, a hook): the model reads the message unchanged. */
  readonly automatic?: boolean | undefined
}

/** Asks a user to approve a call. The call waits for the answer. */
export type AskHandler = (request: AskRequest) => AskAnswer | Promise<AskAnswer>

/** A call that was refused because no user could be asked, with the rule that would have allowed it. */
export type RefusedAsk = {
  readonly toolName: string
  readonly args: unknown
  readonly reasons: readonly string[]
  readonly suggestion?: readonly Rule[] | undefined
}

/** Reads an answer. Everything but a clear approval is a rejection. */
export function readAnswer(answer: unknown): {
  readonly approved: boolean
  readonly keep?: 'session' | 'always' | undefined
  readonly message?: string | undefined
  readonly automatic?: boolean | undefined
} {
  const given = typeof answer === 'object' && answer !== null ? (answer as Partial<AskAnswer>) : {}
  const message = typeof given.message === 'string' ? given.message : undefined
  if (given.decision === 'once') return { approved: true, message }
  if (given.decision === 'session' || given.decision === 'always')
    return { approved: true, keep: given.decision, message }
  return { approved: false, message, automatic: given.automatic === true ? true : undefined }
}

/** Returns the text about a rejected call that the model reads. */
export function rejectionText(answer: AskAnswer | ReturnType<typeof readAnswer>): string {
  const { message, automatic } = 'approved' in answer ? answer : readAnswer(answer)
  const reason = message?.trim() ?? ''
  if (reason === '') return automatic ? 'The call was rejected.' : 'The user rejected this call.'
  return automatic ? reason : `The user rejected this call: ${reason}`
}
