import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { JudgedCall, JudgedPart } from '../../src/authority/judged-call.js'
import type { Verdict } from '../../src/authority/verdict.js'
import { client, describeFailure } from './api.js'
import { CopyButton, commandLine } from './copy.js'
import { clock } from './format.js'
import { Line, Plain } from './text.js'
import type { CallItem } from './timeline.js'

type Action = JudgedCall['action']
type Explained = {
  readonly action: Action
  readonly text: string
  readonly judged: JudgedCall
  readonly watchdog: Verdict
}

/** Every step of the gate that decided about a call, with the decision at that time. */
export function Verdicts({ call }: { readonly call: CallItem }): JSX.Element {
  const { end, asked, answered, denied } = call
  const decision = end?.decision
  const { judged } = decision ?? {}
  const sandbox = end?.metadata['sandbox']
  const refused: unknown = end?.metadata['blocked']
  const blocked = Array.isArray(refused) ? refused.map(String) : []
  return (
    <dl class="verdicts">
      {judged !== undefined && (
        <Step name="Capability check" tone={judged.refusal === undefined ? 'allow' : 'deny'}>
          {judged.refusal === undefined ? (
            'everything it touches is granted'
          ) : (
            <Line text={judged.refusal} max={500} />
          )}
        </Step>
      )}
      {judged?.layers.map((layer, at) => (
        <Step key={at} name={layerName(layer.layer)} tone={layer.action}>
          <ul>
            {layer.subjects.map((part, index) => (
              <li key={index}>
                <PartText part={part} />
              </li>
            ))}
          </ul>
        </Step>
      ))}
      {decision?.watchdog !== undefined && (
        <Step name="Watchdog" tone={decision.watchdog.action}>
          <VerdictText verdict={decision.watchdog} />
        </Step>
      )}
      {decision?.hooks !== undefined && (
        <Step
          name="Hooks"
          tone={decision.hooks === 'block' ? 'deny' : decision.hooks === 'ask' ? 'ask' : 'allow'}
        >
          {hookText[decision.hooks]}
        </Step>
      )}
      {asked !== undefined && (
        <Step name="Approval" tone={answered === undefined ? 'ask' : answered.approved ? 'allow' : 'deny'}>
          <p>
            asked at {clock(asked.atMs)}: <Line text={asked.event.reasons.join('; ')} max={600} />
          </p>
          {answered !== undefined && (
            <p>
              {answered.approved ? `approved (${answered.decision ?? 'once'})` : 'rejected'}{' '}
              {answered.isTimeout
                ? 'because the time limit passed'
                : `by ${answered.by ?? 'the host or its terminal'}`}{' '}
              at {clock(answered.atMs)}
              {answered.reason !== undefined && (
                <>
                  : <Line text={answered.reason} max={400} />
                </>
              )}
            </p>
          )}
        </Step>
      )}
      {denied !== undefined && (
        <Step name="Refused" tone="deny">
          <Line text={denied} max={1_000} />
        </Step>
      )}
      {typeof sandbox === 'string' && (
        <Step name="Sandbox" tone={sandbox === 'none' ? 'ask' : blocked.length > 0 ? 'deny' : 'allow'}>
          {sandbox === 'none' ? 'the command ran without a sandbox' : `confined by ${sandbox}`}
          {blocked.length === 0 && sandbox !== 'none' && '; no blocked action was reported'}
          {blocked.length > 0 && (
            <ul>
              {blocked.map((what) => (
                <li key={what}>
                  blocked: <Line text={what} max={500} />
                </li>
              ))}
            </ul>
          )}
        </Step>
      )}
      {decision === undefined && end !== undefined && (
        <Step name="Decision" tone="none">
          The log of this call has no decision: it was written by an earlier version.
        </Step>
      )}
    </dl>
  )
}

const hookText = {
  continue: 'allowed the call to continue',
  block: 'blocked the call',
  skip: 'answered in place of the tool',
  change: 'changed the arguments, which were judged again',
  ask: 'required an approval',
} as const

function Step({
  name,
  tone,
  children,
}: {
  readonly name: string
  readonly tone: Action | 'none'
  readonly children: preact.ComponentChildren
}): JSX.Element {
  return (
    <div class={`step ${tone}`}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function PartText({ part }: { readonly part: JudgedPart }): JSX.Element {
  const { subject, action, decidedBy, rule } = part
  return (
    <>
      <Line text={subject} max={300} />: <b class={action}>{action}</b>{' '}
      {rule === undefined ? (
        <span class="quiet">({deciders[decidedBy]})</span>
      ) : (
        <>
          by <code>{rule.text}</code> <span class="scope">{rule.source}</span>
        </>
      )}
    </>
  )
}

const deciders = {
  rule: 'a rule',
  default: 'no rule covers it',
  doubt: 'not fully understood',
  command: 'covered by the command that names it',
  search: 'each result of the search is judged',
} as const

function VerdictText({ verdict }: { readonly verdict: Verdict }): JSX.Element {
  const reason = 'reason' in verdict ? verdict.reason : undefined
  return (
    <>
      {verdict.action}
      {reason !== undefined && (
        <>
          : <Line text={reason} max={500} />
        </>
      )}
    </>
  )
}

/** The explanation tree of a call under the current rules, and under rules that the user tries out. Nothing is run. */
export function Why({
  sessionId,
  call,
}: {
  readonly sessionId: string
  readonly call: CallItem
}): JSX.Element {
  const now = useSignal<Explained | string | undefined>(undefined)
  const supposed = useSignal<Explained | string | undefined>(undefined)
  const [rule, action, source] = [useSignal(''), useSignal<Action>('allow'), useSignal('session')]
  const removed = useSignal('')

  const explain = async (suppose?: Suppose): Promise<Explained | string> => {
    try {
      const body = { toolName: call.toolName, args: argsOf(call), ...(suppose !== undefined && { suppose }) }
      return (await client.call('explainCall', { params: { sessionId }, body })) as Explained
    } catch (error) {
      return describeFailure(error)
    }
  }
  useEffect(() => {
    void explain().then((found) => {
      now.value = found
      if (typeof found === 'string') return
      const decisive = found.judged.layers.flatMap((layer) => layer.subjects).find((part) => part.rule)?.rule
      rule.value = decisive?.text ?? call.toolName
    })
  }, [call.key])

  const known = typeof now.value === 'object' ? rulesIn(now.value.judged) : []
  const judge = async (): Promise<void> => {
    const gone = known.find(({ id }) => id === removed.value)
    supposed.value = await explain({
      ...(rule.value.trim() !== '' && {
        add: [{ rule: rule.value.trim(), action: action.value, source: source.value as 'session' }],
      }),
      ...(gone !== undefined && { remove: [{ rule: gone.text, source: gone.source }] }),
    })
  }
  return (
    <section class="why" aria-label="Explanation">
      <h2 class="label">With the current rules</h2>
      <Tree explained={now.value} />
      <h2 class="label">What if</h2>
      <form
        class="what-if"
        onSubmit={(event) => {
          event.preventDefault()
          void judge()
        }}
      >
        <label>
          Add
          <select
            aria-label="Action of the rule"
            value={action.value}
            onChange={({ currentTarget }) => {
              action.value = currentTarget.value as Action
            }}
          >
            <option>allow</option>
            <option>ask</option>
            <option>deny</option>
          </select>
        </label>
        <input
          aria-label="Rule"
          value={rule.value}
          spellcheck={false}
          onInput={({ currentTarget }) => {
            rule.value = currentTarget.value
          }}
        />
        <label>
          scope
          <select
            value={source.value}
            onChange={({ currentTarget }) => {
              source.value = currentTarget.value
            }}
          >
            <option>session</option>
            <option>project</option>
            <option>manifest</option>
          </select>
        </label>
        <label>
          without
          <select
            value={removed.value}
            onChange={({ currentTarget }) => {
              removed.value = currentTarget.value
            }}
          >
            <option value="">no other change</option>
            {known.map(({ id, text, action: own, source: from }) => (
              <option key={id} value={id}>
                {own} {text} ({from})
              </option>
            ))}
          </select>
        </label>
        <button type="submit">Judge again</button>
      </form>
      <p class="quiet">
        Judged by the same code as a real call. Nothing is run or saved; hooks are not called.{' '}
        <CopyButton isLink label="Copy the rule" text={() => rule.value} />{' '}
        <CopyButton
          isLink
          label="Copy as a command"
          text={() => commandLine(['capstan', 'rules', 'add'], [action.value, rule.value])}
        />
      </p>
      {supposed.value !== undefined && <Tree explained={supposed.value} />}
    </section>
  )
}

type Suppose = {
  readonly add?: { rule: string; action: Action; source: 'manifest' | 'project' | 'session' }[]
  readonly remove?: { rule: string; source: 'manifest' | 'project' | 'session' }[]
}

function layerName(layer: JudgedCall['layers'][number]['layer']): string {
  return layer === 'rules' ? 'Rules' : layer === 'limit' ? 'Mode' : 'Rules of the parent'
}

function Tree({ explained }: { readonly explained: Explained | string | undefined }): JSX.Element {
  if (explained === undefined) return <p>Judging…</p>
  if (typeof explained === 'string') return <p class="failure">{explained}</p>
  const { action, judged, watchdog } = explained
  return (
    <div class="tree">
      <p>
        Verdict: <b class={action}>{action}</b>
        {judged.reason !== undefined && (
          <>
            {' '}
            — <Line text={judged.reason} max={500} />
          </>
        )}
      </p>
      <ul>
        <li>
          Capability: {judged.refusal === undefined ? 'granted' : <Line text={judged.refusal} max={500} />}
        </li>
        {judged.layers.map((layer, at) => (
          <li key={at}>
            {layerName(layer.layer)}: <b class={layer.action}>{layer.action}</b>
            <ul>
              {layer.subjects.map((part, index) => (
                <li key={index}>
                  <PartText part={part} />
                  {part.matches !== undefined && part.matches.length > 0 && (
                    <ol>
                      {part.matches.map((match) => (
                        <li key={match.rank} class={match.decides ? 'decides' : ''}>
                          <b class={match.action}>{match.action}</b> <code>{match.text}</code>{' '}
                          <span class="scope">{match.source}</span>{' '}
                          <span class="quiet">
                            {match.level}, specificity {match.specificity}
                            {match.pinned ? ', pinned' : ''}
                            {match.unconfirmed ? ', not confirmed' : ''}
                            {match.decides ? ', decides' : ''}
                          </span>
                        </li>
                      ))}
                    </ol>
                  )}
                </li>
              ))}
            </ul>
          </li>
        ))}
        <li>
          Watchdog: <VerdictText verdict={watchdog} />
        </li>
      </ul>
      <details>
        <summary>As text</summary>
        <Plain label="Explanation as text" text={explained.text} />
      </details>
    </div>
  )
}

function rulesIn(judged: JudgedCall): {
  readonly id: string
  readonly text: string
  readonly action: Action
  readonly source: 'manifest' | 'project' | 'session'
}[] {
  const all = judged.layers
    .filter(({ layer }) => layer === 'rules')
    .flatMap(({ subjects }) => subjects)
    .flatMap(({ matches = [] }) => matches)
  const byId = new Map(
    all.map(({ text, action, source }) => [`${source} ${action} ${text}`, { text, action, source }]),
  )
  return [...byId].map(([id, found]) => ({ id, ...found }))
}

/** The arguments of a call, or none when they are not an object. */
export function argsOf({ args }: Pick<CallItem, 'args'>): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(args)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  } catch {
    return {}
  }
}
