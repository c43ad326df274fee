import type { JSX } from 'preact'

/** A state in one word, in the color of its kind. */
export function Status({ status }: { readonly status: string }): JSX.Element {
  return <span class={`badge ${status}`}>{status}</span>
}
