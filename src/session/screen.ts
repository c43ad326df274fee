import type { Watchdog } from '../authority/watchdog.js'
import type { AgentEvent } from '../loop/events.js'
import type { AgentMiddleware } from '../tool/middleware.js'
import { serializeToolOutput } from '../tool/serialize.js'
import { DefaultSecurityProvider, type SecurityProvider, type TextStream } from './security/index.js'

/** What stands between a session's texts and those who read them. Without a provider everything passes as it is. */
export interface Screen {
  /** Takes out of tool results what a model must not see, and tells what in them is suspicious. */
  readonly middleware: readonly AgentMiddleware[]
  /** Keeps a mark that stands for a secret from being written in the secret's place. */
  readonly watchdogs: readonly Watchdog[]
  text(text: string): string
  /** For the events of one run: text that comes in pieces is looked at across their borders. */
  events(pass: (event: AgentEvent) => void): (event: AgentEvent) => void
}

/** The keys of the configuration are taken out everywhere, with a provider of the host's own or without. */
export function screenFor(
  given: SecurityProvider | undefined,
  secrets: readonly string[],
  emit: (event: AgentEvent) => void,
): Screen {
  const provider = given ?? (secrets.length === 0 ? undefined : new DefaultSecurityProvider({ kinds: [] }))
  if (provider === undefined) return open
  if (provider instanceof DefaultSecurityProvider) for (const secret of secrets) provider.addSecret(secret)
  const redact = (text: string): string => provider.redactOutput?.(text, 'host') ?? text
  return {
    middleware: [resultScreen(provider, emit)],
    watchdogs: [refuseMarks],
    text: redact,
    events: (pass) => eventScreen(provider, redact, pass),
  }
}

const open: Screen = { middleware: [], watchdogs: [], text: (text) => text, events: (pass) => pass }

function resultScreen(provider: SecurityProvider, emit: (event: AgentEvent) => void): AgentMiddleware {
  return {
    onToolOutput({ toolName, result }) {
      for (const { kind, excerpt } of provider.inspectInput?.(result).findings ?? [])
        emit({
          type: 'notice',
          source: toolName,
          message: `Suspicious text in a result (${kind}): ${excerpt}`,
        })
      const clean = provider.redactOutput?.(result, 'model') ?? result
      return clean === result ? undefined : clean
    },
  }
}

const writing: ReadonlySet<string> = new Set(['write', 'edit', 'patch'])

const refuseMarks: Watchdog = ({ tool, args }) =>
  writing.has(tool) && serializeToolOutput(args).includes('[REDACTED:')
    ? {
        action: 'deny',
        reason:
          'the text holds a mark such as [REDACTED:SECRET], which stands for something that was not shown; writing it would destroy that. Change only the lines around it',
      }
    : { action: 'allow' }

/** Deltas of one text belong together until another kind of event comes. */
function eventScreen(
  provider: SecurityProvider,
  redact: (text: string) => string,
  pass: (event: AgentEvent) => void,
): (event: AgentEvent) => void {
  type Delta = Extract<AgentEvent, { type: 'text_delta' | 'reasoning_delta' }>
  let open: { readonly type: Delta['type']; readonly stream: TextStream } | undefined
  const flush = (): void => {
    const text = open?.stream.end() ?? ''
    if (open !== undefined && text !== '') pass({ type: open.type, text })
    open = undefined
  }
  return (event) => {
    if (event.type !== 'text_delta' && event.type !== 'reasoning_delta') {
      flush()
      pass(withRedactedTexts(event, redact))
      return
    }
    if (open?.type !== event.type) flush()
    open ??= { type: event.type, stream: provider.redactStream?.() ?? wholePieces(redact) }
    const text = open.stream.push(event.text)
    if (text !== '') pass({ ...event, text })
  }
}

function wholePieces(redact: (text: string) => string): TextStream {
  return { push: redact, end: () => '' }
}

function withRedactedTexts(event: AgentEvent, redact: (text: string) => string): AgentEvent {
  switch (event.type) {
    case 'tool_input_delta':
    case 'tool_output_delta':
      return { ...event, text: redact(event.text) }
    case 'tool_execution_start':
      return { ...event, args: redact(event.args) }
    case 'tool_end':
      return { ...event, toolOutput: redact(event.toolOutput) }
    case 'agent_end':
      return { ...event, result: { ...event.result, text: redact(event.result.text) } }
    case 'error':
      return { ...event, error: redact(event.error) }
    default:
      return event
  }
}
