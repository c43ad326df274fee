/** The messages between a thread and its host: JSON text, so that neither side can touch objects of the other. */
export type ThreadSetup = {
  readonly engineUrl: string
  readonly module: WebAssembly.Module
  /** The guest's half of the bridge, as source text. */
  readonly guest: string
  readonly memoryBytes: number
  readonly stackBytes: number
  /** The running program's time, as named by {@link clockSlots}. */
  readonly clock: SharedArrayBuffer
}

/**
 * Numbers that a thread and its host share, on the clock of all threads. The host writes when the time is up
 * (`deadline`) and how long the script itself can still run (`activeLimit`); the thread writes how long it has worked
 * (`active`) and since when it is working (`activeSince`, 0 while it waits).
 */
export const clockSlots = { deadline: 0, activeLimit: 1, active: 2, activeSince: 3 } as const

export type ToThread =
  | {
      readonly kind: 'start'
      readonly source: string
      readonly fileName: string
      readonly inputs: string
      /** The start of the guest's clock, in milliseconds; it also seeds the random numbers. */
      readonly startedAt: number
      readonly maxToolCalls: number
      readonly maxResultBytes: number
      /** Whether to send `taken` for 0 when the script has started and waits. */
      readonly ack: boolean
      /** For TypeScript: the URL of the module that removes types. */
      readonly stripper?: string
    }
  | {
      readonly kind: 'answer'
      readonly id: number
      readonly ok: boolean
      readonly text: string
      /** The guest's clock from now on, in milliseconds since its start: it is paused between answers. */
      readonly at: number
      /** Whether to report when everything that follows from the answer was done. */
      readonly ack: boolean
    }

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'calls'; readonly calls: readonly GuestCall[] }
  /** The script has received and processed an answer. */
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
