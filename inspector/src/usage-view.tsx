import type { JSX } from 'preact'
import { safeLine } from '../../src/cli/terminal/safe-text.js'
import type { TimedEvent } from './api.js'
import { ContextFill } from './context-fill.js'
import { duration, tokens } from './format.js'
import { useSubagents } from './subagent-events.js'

type Round = {
  readonly label: string
  readonly input: number
  readonly cached: number
  readonly output: number
  readonly reasoning: number
  readonly startMs: number
  readonly endMs: number
}
type Span = {
  readonly label: string
  readonly startMs: number
  readonly endMs: number
  readonly kind: 'model' | 'tool' | 'agent'
}

/** Tokens of each round, the time of models and tools, and when each of them worked. */
export function UsageView({
  sessionId,
  events,
}: {
  readonly sessionId: string
  readonly events: readonly TimedEvent[]
}): JSX.Element {
  const { rounds, spans } = read(events)
  const subagents = useSubagents(events)
  if (rounds.length === 0) return <p class="empty">No model has answered yet.</p>
  const sum = (pick: (round: Round) => number): number => rounds.reduce((all, round) => all + pick(round), 0)
  const time = (kind: Span['kind']): number =>
    spans.filter((span) => span.kind === kind).reduce((all, span) => all + span.endMs - span.startMs, 0)
  const [model, tool] = [time('model'), time('tool')]
  return (
    <div class="usage">
      <dl class="figures">
        <Figure name="Input" value={tokens(sum(({ input }) => input))} />
        <Figure name="Input from cache" value={tokens(sum(({ cached }) => cached))} />
        <Figure name="Output" value={tokens(sum(({ output }) => output))} />
        <Figure name="Output for reasoning" value={tokens(sum(({ reasoning }) => reasoning))} />
        <Figure name="Largest context" value={tokens(Math.max(...rounds.map(({ input }) => input)))} />
        <Figure name="Model time" value={duration(model)} />
        <Figure name="Tool time, including waiting" value={duration(tool)} />
      </dl>
      <ContextFill sessionId={sessionId} />
      <h2>Tokens per round</h2>
      <RoundChart rounds={rounds} />
      {rounds.length > maxBars && (
        <p class="quiet">
          The last {maxBars} of {rounds.length.toLocaleString()} rounds.
        </p>
      )}
      <p class="legend">
        <Key kind="cached" name="cached input" /> <Key kind="input" /> <Key kind="reasoning" />{' '}
        <Key kind="output" />
      </p>
      <h2>Time</h2>
      <TimeSplit model={model} tool={tool} />
      <Flame groups={[spans, ...subagents.map(({ agent, events: own }) => spansOf(agent, own))]} />
      <p class="legend">
        <Key kind="model" /> <Key kind="tool" name="tools" /> <Key kind="agent" name="subagents" />
      </p>
    </div>
  )
}

/** One entry of a legend, which stays in one line. */
function Key({ kind, name = kind }: { readonly kind: string; readonly name?: string }): JSX.Element {
  return (
    <span class="entry">
      <span class={`key ${kind}`} /> {name}
    </span>
  )
}

function Figure({ name, value }: { readonly name: string; readonly value: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

const chart = { width: 900, height: 180 }
const maxBars = 300

function RoundChart({ rounds }: { readonly rounds: readonly Round[] }): JSX.Element {
  const shown = rounds.slice(-maxBars)
  const most = Math.max(1, ...shown.map(({ input, output }) => input + output))
  const step = Math.min(60, chart.width / shown.length)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
    <div class="scroll" tabIndex={0}>
      <svg
        viewBox={`0 0 ${chart.width} ${chart.height + 18}`}
        class="chart"
        role="img"
        aria-label={`Tokens of ${shown.length} rounds, at most ${tokens(most)} in one`}
      >
        <line x1="0" x2={chart.width} y1={chart.height} y2={chart.height} class="axis" />
        <text x={chart.width} y="10" text-anchor="end">
          {tokens(most)}
        </text>
        {shown.map((round, at) => {
          const parts = [
            ['cached', round.cached],
            ['input', round.input - round.cached],
            ['reasoning', round.reasoning],
            ['output', round.output - round.reasoning],
          ] as const
          let y = chart.height
          return (
            <g key={at}>
              <title>{`${round.label}: ${tokens(round.input)} in, ${tokens(round.output)} out`}</title>
              {parts.map(([name, count]) => {
                const height = (Math.max(0, count) / most) * (chart.height - 14)
                y -= height
                return (
                  <rect
                    key={name}
                    class={name}
                    x={at * step + 1}
                    y={y}
                    width={Math.max(1, step - 2)}
                    height={height}
                  />
                )
              })}
              {shown.length <= 40 && (
                <text x={at * step + step / 2} y={chart.height + 14} text-anchor="middle">
                  {round.label.replace('Round ', '')}
                </text>
              )}
            </g>
          )
        })}
      </svg>
    </div>
  )
}

const rowHeight = 20
const maxSpans = 2_000

/** How the time is split between models and tools. */
function TimeSplit({ model, tool }: { readonly model: number; readonly tool: number }): JSX.Element {
  const sum = Math.max(1, model + tool)
  const part = (model / sum) * chart.width
  const percent = Math.round((model / sum) * 100)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
    <div class="scroll" tabIndex={0}>
      <svg
        viewBox={`0 0 ${chart.width} 22`}
        class="chart"
        role="img"
        aria-label={`Models took ${percent} % of the time, tools ${100 - percent} %`}
      >
        <rect class="model" x="0" y="2" width={part} height="18" />
        <rect class="tool" x={part} y="2" width={chart.width - part} height="18" />
        {part > 60 && (
          <text class="inside" x="6" y="15">
            {percent} % model
          </text>
        )}
        {chart.width - part > 60 && (
          <text class="inside" x={chart.width - 6} y="15" text-anchor="end">
            {100 - percent} % tools
          </text>
        )}
      </svg>
    </div>
  )
}

/** The work of a subagent, below its name. */
function spansOf(agent: string, events: readonly TimedEvent[]): Span[] {
  return read(events).spans.map((span) => ({ ...span, label: `${safeLine(agent)}: ${span.label}` }))
}

/**
 * When models, tools and subagents worked. Work that ran at the same time is on separate rows; the rows of each subagent
 * are below those of the session.
 */
function Flame({ groups }: { readonly groups: readonly (readonly Span[])[] }): JSX.Element {
  const shown = groups.map((spans) => spans.slice(-maxSpans))
  const all = shown.flat()
  const start = all.reduce((least, { startMs }) => Math.min(least, startMs), Number.POSITIVE_INFINITY)
  const end = all.reduce((most, { endMs }) => Math.max(most, endMs), start + 1)
  const ends: number[] = []
  const placed = shown.flatMap((spans) => {
    const first = ends.length
    return spans
      .toSorted((a, b) => a.startMs - b.startMs)
      .map((span) => {
        const free = ends.findIndex((until, row) => row >= first && until <= span.startMs)
        const row = free < 0 ? ends.length : free
        ends[row] = span.endMs
        return { ...span, row }
      })
  })
  const x = (atMs: number): number => ((atMs - start) / (end - start)) * chart.width
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
    <div class="scroll" tabIndex={0}>
      <svg
        viewBox={`0 0 ${chart.width} ${ends.length * rowHeight + 18}`}
        class="chart"
        role="img"
        aria-label={`${all.length} activities in ${duration(end - start)}`}
      >
        {placed.map((span, at) => {
          const width = Math.max(1.5, x(span.endMs) - x(span.startMs))
          return (
            <g key={at}>
              <title>{`${span.label}: ${duration(span.endMs - span.startMs)}`}</title>
              <rect
                class={span.kind}
                x={x(span.startMs)}
                y={span.row * rowHeight}
                width={width}
                height={rowHeight - 3}
                rx="2"
              />
              {width > 60 && (
                <text x={x(span.startMs) + 4} y={span.row * rowHeight + 12} class="inside">
                  {span.label.slice(0, Math.floor(width / 7))}
                </text>
              )}
            </g>
          )
        })}
        <text x="0" y={ends.length * rowHeight + 14}>
          0
        </text>
        <text x={chart.width} y={ends.length * rowHeight + 14} text-anchor="end">
          {duration(end - start)}
        </text>
      </svg>
    </div>
  )
}

function read(events: readonly TimedEvent[]): { readonly rounds: Round[]; readonly spans: Span[] } {
  const rounds: Round[] = []
  const spans: Span[] = []
  const open = new Map<string, { readonly label: string; readonly startMs: number }>()
  for (const { event, timestampMs } of events) {
    if (event.type === 'turn_start') open.set('round', { label: `Round ${event.turn}`, startMs: timestampMs })
    else if (event.type === 'tool_execution_start')
      open.set(`tool ${event.toolId}`, { label: safeLine(event.toolName), startMs: timestampMs })
    else if (event.type === 'subagent_start')
      open.set(`agent ${event.taskId}`, { label: safeLine(event.agent), startMs: timestampMs })
    else if (event.type === 'turn_end') {
      const { label, startMs } = open.get('round') ?? { label: 'Round', startMs: timestampMs }
      const { promptTokens, cacheReadTokens, completionTokens, reasoningTokens } = event.usage
      rounds.push({
        label,
        startMs,
        endMs: timestampMs,
        input: promptTokens,
        cached: cacheReadTokens,
        output: completionTokens,
        reasoning: reasoningTokens,
      })
      spans.push({ label, startMs, endMs: timestampMs, kind: 'model' })
    } else if (event.type === 'tool_end' || event.type === 'subagent_end') {
      const isTool = event.type === 'tool_end'
      const begun = open.get(isTool ? `tool ${event.toolId}` : `agent ${event.taskId}`)
      if (begun !== undefined) spans.push({ ...begun, endMs: timestampMs, kind: isTool ? 'tool' : 'agent' })
    }
  }
  return { rounds, spans }
}
