// A chat page with `useChat` of the AI SDK and approvals, for a React app (Vite, Next.js). The server is mounted under the same origin, so
// the cookie of the app's own session authenticates it: `createServer(agent, { authenticate })`.
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { useState } from 'react'

const transport = new DefaultChatTransport({ api: '/v1/chat' })

/** `id` is the id of the session: the same id shows the same chat, also after a reload. */
export function Chat({ id }) {
  const [text, setText] = useState('')
  const { messages, sendMessage, addToolApprovalResponse, status, stop, error } = useChat({
    id,
    transport,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const isAsked = messages.at(-1)?.parts.some(({ state }) => state === 'approval-requested')
  const send = (event) => {
    event.preventDefault()
    sendMessage({ text })
    setText('')
  }
  return (
    <main>
      {messages.map(({ id: messageId, role, parts }) => (
        <section key={messageId}>
          <b>{role}</b>
          {parts.map((part, at) => (
            <Part key={part.toolCallId ?? at} part={part} answer={addToolApprovalResponse} />
          ))}
        </section>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input value={text} onChange={(event) => setText(event.target.value)} aria-label="Message" />
        <button type="submit" disabled={status !== 'ready' || isAsked}>
          Send
        </button>
        {status === 'streaming' && (
          <button type="button" onClick={stop}>
            Stop watching
          </button>
        )}
      </form>
    </main>
  )
}

function Part({ part, answer }) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (part.type === 'reasoning') return <i>{part.text}</i>
  if (part.type === 'data-plan') return <Todos todos={part.data.todos} />
  if (part.type !== 'dynamic-tool') return null
  return (
    <div>
      <code>
        {part.toolName} {JSON.stringify(part.input)}
      </code>
      {part.state === 'approval-requested' && <Approval id={part.approval.id} answer={answer} />}
      {part.state === 'output-available' && <pre>{String(part.output)}</pre>}
      {part.state === 'output-error' && <pre role="alert">{part.errorText}</pre>}
    </div>
  )
}

function Approval({ id, answer }) {
  return (
    <>
      <button type="button" onClick={() => answer({ id, approved: true })}>
        Allow
      </button>
      <button type="button" onClick={() => answer({ id, approved: false })}>
        Deny
      </button>
    </>
  )
}

function Todos({ todos }) {
  return (
    <ul>
      {todos.map(({ content, status }) => (
        <li key={content}>{status === 'completed' ? <s>{content}</s> : content}</li>
      ))}
    </ul>
  )
}
