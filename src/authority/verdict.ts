/** The decision about a call. */
export type Verdict =
  | { readonly action: 'allow' }
  | { readonly action: 'deny'; readonly reason: string }
  | { readonly action: 'ask'; readonly reason?: string }

/** The verdict on a call: it runs, needs approval, or is denied. */
export type Action = Verdict['action']

export const actions: readonly Action[] = ['allow', 'ask', 'deny']

/** Returns how strict an action is; of two, the greater wins. */
export function strictness(action: Action): number {
  return action === 'deny' ? 2 : action === 'ask' ? 1 : 0
}

/** Returns the strictest verdict; the first of equals. Without any verdict: allow. */
export function strictest(...verdicts: readonly Verdict[]): Verdict {
  let held: Verdict = { action: 'allow' }
  for (const verdict of verdicts) if (strictness(verdict.action) > strictness(held.action)) held = verdict
  return held
}
