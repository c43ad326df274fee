import type { JSX } from 'preact'
import { client } from './api.js'
import { tokens } from './format.js'
import { usePolled } from './polling.js'
import { Line } from './text.js'

const pollMs = 10_000
const width = 900

/** How much of the context window of the model is used, and by what. */
export function ContextFill({ sessionId }: { readonly sessionId: string }): JSX.Element | null {
  const { value, failure } = usePolled(
    (signal) => client.call('getContext', { params: { sessionId } }, signal),
    pollMs,
    [sessionId],
  )
  if (failure.value !== '') return <p class="failure">The context window: {failure.value}</p>
  if (value.value === undefined) return null
  const { model, windowTokens, windowAssumed, usedTokens, parts, compaction } = value.value
  const percent = Math.round((usedTokens / windowTokens) * 100)
  const x = (count: number): number => (Math.min(count, windowTokens) / windowTokens) * width
  let from = 0
  return (
    <section aria-label="Context window">
      <h2>Context window</h2>
      <p class="totals">
        {tokens(usedTokens)} of {tokens(windowTokens)} tokens ({percent} %) of <Line text={model} max={60} />
        {windowAssumed && ', whose context window is an assumption'}
        {compaction.auto && ` · compacted at ${tokens(compaction.atTokens)}`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard */}
      <div class="scroll" tabIndex={0}>
        <svg viewBox={`0 0 ${width} 26`} class="chart" role="img" aria-label={`${percent} % used`}>
          <rect class="window" x="0" y="2" width={width} height="18" rx="3" />
          {parts.map(({ name, tokens: count }) => {
            const left = from
            from += count
            return (
              <rect key={name} class={classes[name]} x={x(left)} y="2" width={x(from) - x(left)} height="18">
                <title>{`${names[name] ?? name}: ${tokens(count)}`}</title>
              </rect>
            )
          })}
          {compaction.auto && (
            <line class="limit" x1={x(compaction.atTokens)} x2={x(compaction.atTokens)} y1="0" y2="24" />
          )}
        </svg>
      </div>
      <p class="legend">
        {parts.map(({ name, tokens: count }) => (
          <span key={name} class="entry">
            <span class={`key ${classes[name] ?? ''}`} /> {names[name] ?? name} {tokens(count)}
          </span>
        ))}
      </p>
    </section>
  )
}

const names: Readonly<Record<string, string>> = {
  system: 'system prompt',
  tools: 'tools',
  files: 'files',
  memory: 'memories',
  history: 'conversation',
}

const classes: Readonly<Record<string, string>> = {
  system: 'cached',
  tools: 'tool',
  files: 'agent',
  memory: 'memory',
  history: 'model',
}
