import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { safeJson } from '../../src/cli/terminal/safe-text.js'
import { visitor } from './api.js'
import { diffOf } from './call-diff.js'
import { CopyButton, commandLine } from './copy.js'
import { Diff } from './diff.js'
import { duration } from './format.js'
import { Images } from './images.js'
import type { Complete } from './load-session.js'
import { linkTo } from './places.js'
import { Rest } from './rest.js'
import { Json, Line, Plain } from './text.js'
import { type CallItem, verdictOf } from './timeline.js'
import { argsOf, Verdicts, Why } from './verdict.js'
import { WholeOutput } from './whole-output.js'

/** One tool call: its input, its result, and why it was allowed. */
export function CallView({
  sessionId,
  call,
  isOpen,
  onToggle,
  complete,
}: {
  readonly sessionId: string
  readonly call: CallItem
  readonly isOpen: boolean
  readonly onToggle: () => void
  readonly complete: Complete
}): JSX.Element {
  const isExplained = useSignal(false)
  const { toolName, end, startedAtMs, endedAtMs, toolId, isCopied } = call
  const { label, tone } = verdictOf(call)
  const isFailed = end?.isError === true || (end !== undefined && end.exitCode !== 0)
  const diff = isOpen ? diffOf(call) : undefined
  // Explanations and copies need the whole arguments.
  const isCut = call.cut !== undefined
  const rule = isOpen ? ruleFor(call) : undefined
  return (
    <article class={`call ${tone} ${isOpen ? 'open' : ''}`}>
      <button type="button" class="head" aria-expanded={isOpen} onClick={onToggle}>
        <span class="tool">
          <Line text={toolName} max={80} />
        </span>
        <span class="about">
          <Line text={aboutCall(call)} max={140} />
        </span>
        {isFailed && tone !== 'deny' && <span class="badge failed">failed</span>}
        <span class={`badge ${tone}`}>{label}</span>
        {rulesOf(call) !== undefined && <span class="rule">{rulesOf(call)}</span>}
        {isCopied !== true && (
          <span class="time">{endedAtMs === undefined ? '…' : duration(endedAtMs - startedAtMs)}</span>
        )}
      </button>
      {isOpen && (
        <div class="body">
          <Verdicts call={call} />
          <Rest cut={call.cut} complete={complete} />
          <div class="actions">
            {visitor.value?.readsOnly === undefined && (
              <button
                type="button"
                aria-expanded={isExplained.value}
                disabled={isCut}
                onClick={() => {
                  isExplained.value = !isExplained.value
                }}
              >
                Why?
              </button>
            )}
            <a class="button" href={linkTo({ view: 'session', sessionId, tab: 'timeline', call: toolId })}>
              Link to this call
            </a>
            <CopyButton label="Copy as a capstan command" isDisabled={isCut} text={() => commandOf(call)} />
            {rule !== undefined && <CopyButton label="Copy as a rule" isDisabled={isCut} text={() => rule} />}
          </div>
          {isExplained.value && <Why sessionId={sessionId} call={call} />}
          <h2 class="label">Input</h2>
          <Json label={`Input of ${toolName}`} value={argsOf(call)} />
          {diff !== undefined && (
            <>
              <h2 class="label">Changes</h2>
              <Diff label="Changes" text={diff} path={aboutCall(call)} />
            </>
          )}
          {(call.output !== '' || end !== undefined) && (
            <>
              <h2 class="label">Output</h2>
              <Plain label={`Output of ${toolName}`} text={shownOutput(call)} />
              <Images runId={call.runId} callId={toolId} />
              <WholeOutput sessionId={sessionId} call={call} />
            </>
          )}
          {end !== undefined && Object.keys(end.metadata).length > 0 && (
            <details>
              <summary>Metadata</summary>
              <Json label="Metadata" value={end.metadata} />
            </details>
          )}
        </div>
      )}
    </article>
  )
}

/** Of a truncated output, the part that the model got. */
function shownOutput({ output, end }: CallItem): string {
  if (output === '') return '(none)'
  if (end?.metadata['truncated'] !== true) return output
  const { head } = argsOf({ args: output })
  return typeof head === 'string' ? head : output
}

/** The command, path or pattern that a call is about. */
function aboutCall(call: CallItem): string {
  const args = argsOf(call)
  for (const name of ['command', 'file_path', 'path', 'pattern', 'url', 'query', 'description', 'prompt']) {
    const value = args[name]
    if (typeof value === 'string' && value !== '') return value
  }
  const [first] = Array.isArray(args['questions']) ? args['questions'] : []
  return typeof first?.question === 'string' ? first.question : call.args
}

/** The rule that decided, if there is one, for the line of the call. */
function rulesOf({ end }: CallItem): string | undefined {
  const parts = end?.decision?.judged?.layers.flatMap(({ subjects }) => subjects) ?? []
  const { action } = end?.decision?.judged ?? {}
  const rule = parts.find((part) => part.rule !== undefined && part.action === action)?.rule
  return rule === undefined ? undefined : `${rule.text.slice(0, 40)} · ${rule.source}`
}

/** A rule for calls like this one: the one that was offered for it, the one that decided, or its own text. */
function ruleFor(call: CallItem): string | undefined {
  const [offered] = call.asked?.event.suggestion ?? []
  if (offered !== undefined) return `${offered.permission}(${offered.pattern})`
  const parts = call.end?.decision?.judged?.layers.flatMap(({ subjects }) => subjects) ?? []
  const decisive = parts.find(({ rule }) => rule !== undefined)?.rule
  if (decisive !== undefined) return decisive.text
  const about = aboutCall(call)
  // Pattern characters would match more than this call.
  return about === '' || /[*?[\]{}()\\\n]/.test(about) ? undefined : `${call.toolName}(${about})`
}

function commandOf(call: CallItem): string {
  return commandLine(['capstan', 'tools', 'explain'], [call.toolName, safeJson(argsOf(call))])
}
