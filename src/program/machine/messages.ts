/** What a thread and its host say to each other. Values travel as JSON text: nothing of one side can be touched by the other. */
export type ThreadSetup = {
  readonly engineUrl: string
  readonly module: WebAssembly.Module
  /** The guest's half of the bridge, as source text. */
  readonly guest: string
  readonly memoryBytes: number
  readonly stackBytes: number
  /** The running program's time, as {@link clockSlots} names it. */
  readonly clock: SharedArrayBuffer
}

/**
 * Doubles that a thread and its host both see, on the clock that all threads share. The host writes when the time is up (`deadline`)
 * and how much the script itself may still run (`activeLimit`); the thread writes how long it was at work (`active`) and since when
 * it is again (`activeSince`, 0 while it waits).
 */
export const clockSlots = { deadline: 0, activeLimit: 1, active: 2, activeSince: 3 } as const

export type ToThread =
  | {
      readonly kind: 'start'
      readonly source: string
      readonly fileName: string
      readonly inputs: string
      /** Where the guest's clock starts, in milliseconds; its random numbers follow from it too. */
      readonly startedAt: number
      readonly maxToolCalls: number
      readonly maxResultBytes: number
      /** Say `taken` for 0 when the script has begun and waits. */
      readonly ack: boolean
      /** For TypeScript: where the thread finds what takes its types out. */
      readonly stripper?: string
    }
  | {
      readonly kind: 'answer'
      readonly id: number
      readonly ok: boolean
      readonly text: string
      /** What the guest's clock shows from now on, in milliseconds since its start: between answers it stands still. */
      readonly at: number
      /** Say when all that follows from it was done. */
      readonly ack: boolean
    }

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'calls'; readonly calls: readonly GuestCall[] }
  /** An answer has arrived inside, and what the script did with it is done. */
  | { readonly kind: 'taken'; readonly id: number }
  | { readonly kind: 'log'; readonly level: string; readonly text: string }
  | { readonly kind: 'result'; readonly text: string }
  | { readonly kind: 'failed'; readonly failure: GuestFailure }

export type GuestCall = { readonly id: number; readonly operation: string; readonly text: string }

export type GuestFailure = {
  readonly reason: 'source' | 'missing' | 'thrown' | 'unwritable' | 'interrupted' | 'stalled' | 'crashed'
  readonly name?: string
  readonly message: string
  readonly stack?: string
}
