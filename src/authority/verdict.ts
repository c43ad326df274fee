/** What is decided about a call. */
export type Verdict =
  | { readonly action: 'allow' }
  | { readonly action: 'deny'; readonly reason: string }
  | { readonly action: 'ask'; readonly reason?: string }

export type Action = Verdict['action']

export const actions: readonly Action[] = ['allow', 'ask', 'deny']

/** How much an action holds back; the greater wins wherever two meet. */
export function strictness(action: Action): number {
  return action === 'deny' ? 2 : action === 'ask' ? 1 : 0
}

/** The verdict that holds back most; the first of equals. None: allow, since nobody objected. */
export function strictest(...verdicts: readonly Verdict[]): Verdict {
  let held: Verdict = { action: 'allow' }
  for (const verdict of verdicts) if (strictness(verdict.action) > strictness(held.action)) held = verdict
  return held
}
