import { createHash } from 'node:crypto'
import type { GuestCall } from './messages.js'
import type { ProgramToolCall } from './program-calls.js'

/**
 * What is kept of a program while it runs, so that another process can go on with it: the script runs again from its beginning, and
 * what it had been answered is answered again without being done again.
 */
export type ProgramStep =
  /** The first: which program it is, and where its clock began. */
  | { readonly step: 'begin'; readonly program: string; readonly startedAt: number }
  /** A call is about to begin that the host does not write down by itself, and that must not be made twice. */
  | { readonly step: 'call'; readonly id: number }
  /** The script was answered; in this order. */
  | {
      readonly step: 'answer'
      readonly id: number
      /** The digest of what it asked for. */
      readonly key: string
      readonly ok: boolean
      readonly text: string
      /** What the guest's clock showed from then on. */
      readonly at: number
      /** Absent for what is no call of a tool. */
      readonly call?: ProgramToolCall
    }

export interface ProgramJournal {
  /** The steps that were kept of this program before; none when it begins. */
  readonly before: readonly ProgramStep[]
  /** Calls that had begun before and must not be made twice, by their ids. */
  readonly begun: ReadonlySet<number>
  /** Resolves when these steps, and all before them, are safe. */
  add(steps: readonly ProgramStep[]): Promise<void>
}

export type Answer = Extract<ProgramStep, { step: 'answer' }>

/** How a call of a program that goes on was met before. */
export type Met =
  | { readonly how: 'new' }
  | { readonly how: 'answered'; readonly answer: Answer }
  /** It had begun, and nobody knows what came of it. */
  | { readonly how: 'interrupted' }
  /** It made another call at this place. */
  | { readonly how: 'other' }

export interface Replay {
  /** Looks a call up that the script makes now. */
  meet(call: GuestCall, key: string): Met
  /** The next answer, once the script has asked for it; undefined while it has not, and when all were given. */
  next(): Answer | undefined
  readonly over: boolean
  /** Where the guest's clock stood at last. */
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

/** What a call asks for, in few characters. */
export function keyOf({ operation, text }: GuestCall): string {
  return digestOf(`${operation}\n${text}`).slice(0, 32)
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
