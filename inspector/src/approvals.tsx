import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { isRecord } from '../../src/tool/json.js'
import { type Approval, client, describeFailure, type Question, visitor } from './api.js'
import { Diff } from './diff.js'
import { duration } from './format.js'
import { Json, Line } from './text.js'

const pollMs = 1_500

/** The calls and questions of a session that wait for a user. */
export function Waiting({
  sessionId,
  onCount,
}: {
  readonly sessionId: string
  /** Called with the number of calls and questions that wait. */
  readonly onCount: (count: number) => void
}): JSX.Element {
  const approvals = useSignal<readonly Approval[]>([])
  const questions = useSignal<readonly Question[]>([])
  const params = { sessionId }
  const read = async (signal?: AbortSignal): Promise<void> => {
    approvals.value = (await client.call('listApprovals', { params }, signal)).approvals
    questions.value = (await client.call('listQuestions', { params }, signal)).questions
    onCount(approvals.value.length + questions.value.length)
  }
  useEffect(() => {
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const poll = async (): Promise<void> => {
      // The banner at the top reports a lost connection; the next poll tries again.
      if (!document.hidden) await read(leaving.signal).catch(() => undefined)
      if (!leaving.signal.aborted) timer = setTimeout(poll, pollMs)
    }
    void poll()
    return () => {
      leaving.abort()
      clearTimeout(timer)
    }
  }, [sessionId])
  const isReader = visitor.value?.readsOnly !== undefined
  return (
    <div aria-live="polite">
      {approvals.value.map((approval) => (
        <ApprovalCard
          key={approval.callId}
          sessionId={sessionId}
          approval={approval}
          isReader={isReader}
          onAnswer={() => void read()}
        />
      ))}
      {questions.value.map((question) => (
        <QuestionCard
          key={question.questionId}
          sessionId={sessionId}
          question={question}
          isReader={isReader}
          onAnswer={() => void read()}
        />
      ))}
    </div>
  )
}

type Decision = 'once' | 'session' | 'always' | 'reject'

function ApprovalCard({
  sessionId,
  approval,
  isReader,
  onAnswer,
}: {
  readonly sessionId: string
  readonly approval: Approval
  readonly isReader: boolean
  readonly onAnswer: () => void
}): JSX.Element {
  const message = useSignal('')
  const failure = useSignal('')
  const isSending = useSignal(false)
  const { callId, toolName, args, reasons, rules, notes = [], diff, remainingMs, digest } = approval
  const answer = async (decision: Decision): Promise<void> => {
    isSending.value = true
    try {
      const text = message.value.trim()
      const body = { decision, ...(text !== '' && { message: text }) }
      await client.call('answerApproval', { params: { sessionId, callId }, body })
      onAnswer()
    } catch (error) {
      failure.value = describeFailure(error)
      onAnswer()
    }
    isSending.value = false
  }
  return (
    <section class="card waits" aria-label={`Approval of ${toolName}`}>
      <h2 class="title">
        <code>
          <Line text={toolName} max={80} />
        </code>{' '}
        waits for your approval
      </h2>
      <ul>
        {reasons.map((reason) => (
          <li key={reason}>
            <Line text={reason} max={600} />
          </li>
        ))}
        {notes.map((note) => (
          <li key={note} class="note">
            <Line text={note} max={600} />
          </li>
        ))}
      </ul>
      {diff === undefined ? <Json label="Arguments" value={args} /> : <Diff label="Changes" text={diff} />}
      {rules.length > 0 && (
        <p>
          “For the session” adds the rule{rules.length > 1 ? 's' : ''}{' '}
          {rules.map((rule) => (
            <code key={rule}>
              <Line text={rule} max={300} />{' '}
            </code>
          ))}
        </p>
      )}
      {isReader ? (
        <p class="quiet">You can read this session but not answer its questions.</p>
      ) : (
        <div class="answers">
          <button
            type="button"
            class="primary"
            disabled={isSending.value}
            onClick={() => void answer('once')}
          >
            Approve once
          </button>
          {rules.length > 0 && (
            <button type="button" disabled={isSending.value} onClick={() => void answer('session')}>
              For the session
            </button>
          )}
          <input
            aria-label="Message to the model"
            placeholder="Message to the model"
            value={message.value}
            onInput={({ currentTarget }) => {
              message.value = currentTarget.value
            }}
          />
          <button
            type="button"
            class="danger"
            disabled={isSending.value}
            onClick={() => void answer('reject')}
          >
            Reject
          </button>
        </div>
      )}
      {failure.value !== '' && <p class="failure">{failure.value}</p>}
      <p class="quiet">
        Bound to <code>{digest.slice(0, 12)}</code>
        {remainingMs !== undefined && ` · rejected in ${duration(remainingMs)} without an answer`}
      </p>
    </section>
  )
}

function QuestionCard({
  sessionId,
  question,
  isReader,
  onAnswer,
}: {
  readonly sessionId: string
  readonly question: Question
  readonly isReader: boolean
  readonly onAnswer: () => void
}): JSX.Element {
  const failure = useSignal('')
  const parts = question.questions.map(readQuestion)
  const answers = useSignal<readonly (readonly string[])[]>(parts.map(() => []))
  const send = async (): Promise<void> => {
    try {
      const body = { answers: answers.value.map((one) => [...one]) }
      await client.call('answerQuestion', { params: { sessionId, questionId: question.questionId }, body })
    } catch (error) {
      failure.value = describeFailure(error)
    }
    onAnswer()
  }
  const set = (at: number, value: readonly string[]): void => {
    answers.value = answers.value.map((one, index) => (index === at ? value : one))
  }
  return (
    <section class="card waits" aria-label="Question of the model">
      <h2 class="title">
        The model asks
        {question.agent !== undefined && (
          <>
            {' '}
            (<Line text={question.agent} max={80} />)
          </>
        )}
      </h2>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        {parts.map(({ text, header, options, isMultiple }, at) => (
          <fieldset key={at}>
            <legend>
              {header !== undefined && (
                <span class="header">
                  <Line text={header} max={80} />
                </span>
              )}
              <Line text={text} max={2_000} />
            </legend>
            {options.map(({ label: option, description }) => (
              <label key={option}>
                <input
                  type={isMultiple ? 'checkbox' : 'radio'}
                  name={`question-${at}`}
                  checked={answers.value[at]?.includes(option) === true}
                  onChange={({ currentTarget }) => {
                    const others = (answers.value[at] ?? []).filter((one) => one !== option)
                    set(at, isMultiple ? (currentTarget.checked ? [...others, option] : others) : [option])
                  }}
                />
                <span>
                  <Line text={option} max={300} />
                  {description !== undefined && (
                    <small>
                      {' '}
                      <Line text={description} max={500} />
                    </small>
                  )}
                </span>
              </label>
            ))}
            <input
              aria-label="Another answer"
              placeholder="Another answer"
              onInput={({ currentTarget }) => {
                const chosen = (answers.value[at] ?? []).filter((one) =>
                  options.some(({ label }) => label === one),
                )
                const own = currentTarget.value.trim()
                set(at, own === '' ? chosen : isMultiple ? [...chosen, own] : [own])
              }}
            />
          </fieldset>
        ))}
        {!isReader && (
          <button type="submit" class="primary" disabled={answers.value.some((one) => one.length === 0)}>
            Answer
          </button>
        )}
      </form>
      {failure.value !== '' && <p class="failure">{failure.value}</p>}
    </section>
  )
}

function readQuestion(value: Readonly<Record<string, unknown>>): {
  readonly text: string
  readonly header?: string | undefined
  readonly options: readonly { readonly label: string; readonly description?: string | undefined }[]
  readonly isMultiple: boolean
} {
  const { question, header, options, multi_select: multiple } = value
  const given = Array.isArray(options) ? options : []
  return {
    text: typeof question === 'string' ? question : JSON.stringify(value),
    header: typeof header === 'string' ? header : undefined,
    options: given.map((one: unknown) => {
      const { label, description } = isRecord(one) ? one : { label: one }
      return { label: String(label), description: typeof description === 'string' ? description : undefined }
    }),
    isMultiple: multiple === true,
  }
}
