import type { RuleSuggestion } from '../authority/approval-key.js'
import type { Rule } from '../authority/rule.js'
import type { RunIdentity } from '../tool/contract.js'
import type { Subject } from '../tool/subject.js'

/** Everything a person needs to decide on one call. */
export type AskRequest = {
  /** Answers are given to this id, never to an order of arrival. */
  readonly id: string
  /** A digest of tool, arguments, workspace, session and agent: the same question, and no other, has this key. */
  readonly key: string
  /** The provider's id of the call, when it gave one. */
  readonly toolCallId?: string | undefined
  readonly toolName: string
  /** The very arguments that will run when the answer is yes. */
  readonly args: unknown
  readonly subjects: readonly Subject[]
  /** Why it is asked: the rules, the watchdog, the tool's own policy. */
  readonly reasons: readonly string[]
  /** Those of `reasons` that only say that no rule covers a command, for a user who sees the commands anyway. */
  readonly uncoveredCommands?: readonly string[] | undefined
  /** The rules that asked. */
  readonly rules: readonly Rule[]
  /** What else to know: files that run by themselves later, and the like. */
  readonly notes: readonly string[]
  /** What changes in files, for tools that can say. */
  readonly diff?: string | undefined
  /** The rules that `session` or `always` would add; absent when none is safe to offer. */
  readonly suggestion?: readonly Rule[] | undefined
  /**
   * What a user could write into the rules so that the same call passes, also where `suggestion` offers nothing, or why
   * no rule helps. Absent when something other than rules asks.
   */
  readonly advice?: RuleSuggestion | undefined
  /** A person must answer: no lane and no time-out may approve the call instead. */
  readonly inPerson?: boolean | undefined
  /** Whose call it is: a child's question names the child. */
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
  /** No user decided (a time-out, a hook): the model reads the message as it is. */
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

/** Reads an answer. Anything but a clear yes is a no. */
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

/** What the model reads about a rejected call. */
export function rejectionText(answer: AskAnswer | ReturnType<typeof readAnswer>): string {
  const { message, automatic } = 'approved' in answer ? answer : readAnswer(answer)
  const reason = message?.trim() ?? ''
  if (reason === '') return automatic ? 'The call was rejected.' : 'The user rejected this call.'
  return automatic ? reason : `The user rejected this call: ${reason}`
}
