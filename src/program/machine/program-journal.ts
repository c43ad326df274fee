import { createHash } from 'node:crypto'
import type { GuestCall } from './messages.js'
import type { ProgramToolCall } from './program-calls.js'

/**
 * What is recorded of a running program, so that another process can resume it: the script runs again from its
 * beginning, and gets the recorded answers without repeating the calls.
 */
export type ProgramStep =
  /** The first step: the program's identity, and the start of its clock. */
  | { readonly step: 'begin'; readonly program: string; readonly startedAt: number }
  /** A call is about to start that the host does not record itself, and that must not be made twice. */
  | { readonly step: 'call'; readonly id: number }
  /** The script got an answer; recorded in this order. */
  | {
      readonly step: 'answer'
      readonly id: number
      /** The digest of the request. */
      readonly key: string
      readonly ok: boolean
      readonly text: string
      /** The guest's clock from then on. */
      readonly at: number
      /** The tool call. Absent for steps that are not one. */
      readonly call?: ProgramToolCall
    }

/** Records the steps of a program and returns those of an earlier process. */
export interface ProgramJournal {
  /** The steps that were recorded before; none for a new program. */
  readonly before: readonly ProgramStep[]
  /** Ids of calls that had started before and must not be made twice. */
  readonly begun: ReadonlySet<number>
  /** Resolves when these steps, and all before them, are saved. */
  add(steps: readonly ProgramStep[]): Promise<void>
}

export type Answer = Extract<ProgramStep, { step: 'answer' }>

/** What is recorded for a call of a resumed program. */
export type Met =
  | { readonly how: 'new' }
  | { readonly how: 'answered'; readonly answer: Answer }
  /** It had started, and its result is unknown. */
  | { readonly how: 'interrupted' }
  /** The program made another call at this position. */
  | { readonly how: 'other' }

export interface Replay {
  /** Looks up a call that the script makes now. */
  meet(call: GuestCall, key: string): Met
  /** Returns the next answer, once the script has requested it; undefined before that, and when all were given. */
  next(): Answer | undefined
  readonly over: boolean
  /** The guest's clock at the last recorded answer. */
  readonly at: number
  readonly startedAt: number | undefined
  readonly program: string | undefined
}

export function createReplay({ before, begun }: Pick<ProgramJournal, 'before' | 'begun'>): Replay {
  const answers = before.filter((step) => step.step === 'answer')
  const known = new Map(answers.map((answer) => [answer.id, answer]))
  const started = new Set([...begun, ...before.flatMap((step) => (step.step === 'call' ? [step.id] : []))])
  const begin = before.find((step) => step.step === 'begin')
  const asked = new Set<number>()
  let given = 0
  return {
    meet({ id }, key) {
      const answer = known.get(id)
      if (answer === undefined) return { how: started.has(id) ? 'interrupted' : 'new' }
      if (answer.key !== key) return { how: 'other' }
      asked.add(id)
      return { how: 'answered', answer }
    },
    next() {
      const answer = answers[given]
      if (answer === undefined || !asked.has(answer.id)) return undefined
      given++
      return answer
    },
    get over() {
      return given === answers.length
    },
    at: answers.at(-1)?.at ?? 0,
    startedAt: begin?.startedAt,
    program: begin?.program,
  }
}

/** Returns a short key for a call's request. */
export function keyOf({ operation, text }: GuestCall): string {
  return digestOf(`${operation}\n${text}`).slice(0, 32)
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
