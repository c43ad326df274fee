/** What a thread and its host say to each other. Values travel as JSON text: nothing of one side can be touched by the other. */
export type ThreadSetup = {
  readonly engineUrl: string
  readonly module: WebAssembly.Module
  /** The guest's half of the bridge, as source text. */
  readonly guest: string
  readonly memoryBytes: number
  readonly stackBytes: number
  /** One double: when the running program's time is up, on the clock that all threads share. */
  readonly deadline: SharedArrayBuffer
}

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
    }
  | { readonly kind: 'answer'; readonly id: number; readonly ok: boolean; readonly text: string }

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'calls'; readonly calls: readonly GuestCall[] }
  /** An answer has arrived inside: its text is not waiting any more. */
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
