import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { describeFailure } from './api.js'

/** The value that was read last, and why the last attempt failed; empty when it succeeded. */
export type Polled<Value> = {
  readonly value: ReadonlySignal<Value | undefined>
  readonly failure: ReadonlySignal<string>
  /** Reads again now. */
  refresh(): Promise<void>
}

/** Reads data immediately and then periodically, as long as the component is shown and its page is visible. */
export function usePolled<Value>(
  read: (signal: AbortSignal) => Promise<Value>,
  everyMs: number,
  inputs: readonly unknown[],
): Polled<Value> {
  const value = useSignal<Value | undefined>(undefined)
  const failure = useSignal('')
  const readOnce = async (signal: AbortSignal): Promise<void> => {
    try {
      const found = await read(signal)
      if (signal.aborted) return
      value.value = found
      failure.value = ''
    } catch (error) {
      if (!signal.aborted) failure.value = describeFailure(error)
    }
  }
  useEffect(() => {
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const poll = async (): Promise<void> => {
      if (!document.hidden || value.value === undefined) await readOnce(leaving.signal)
      if (!leaving.signal.aborted) timer = setTimeout(poll, everyMs)
    }
    void poll()
    return () => {
      leaving.abort()
      clearTimeout(timer)
    }
  }, inputs)
  return { value, failure, refresh: () => readOnce(new AbortController().signal) }
}
