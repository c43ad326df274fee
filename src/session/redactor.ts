import type { Watchdog } from '../authority/watchdog.js'
import type { TextRedactor } from '../feature/feature-context.js'
import { type AgentEvent, isTerminal } from '../loop/events.js'
import { type AgentMiddleware, forEveryOutput } from '../tool/middleware.js'
import { serializeToolOutput } from '../tool/serialize.js'
import { hiddenTexts, valueNow } from '../workspace/egress/network-options.js'
import { isClean } from './security/default-provider.js'
import {
  DefaultSecurityProvider,
  redactValue,
  type SecurityProvider,
  type TextStream,
  type TextTarget,
} from './security/index.js'
import type { SessionSetup } from './setup.js'

/** Removes secrets from the texts of a session. Without a provider, texts are passed on unchanged. */
export interface Redactor extends TextRedactor {
  /** Removes what the model must not see from tool results, and reports suspicious text in them. */
  readonly middleware: readonly AgentMiddleware[]
  /** Denies writing a placeholder such as `[REDACTED:SECRET]` where the secret was. */
  readonly watchdogs: readonly Watchdog[]
  /**
   * Whether `record` would leave every text inside a JSON text unchanged. False: it may change one. Absent: unknown.
   */
  readonly isCleanRecord?: (json: string) => boolean
  /** Redacts these texts everywhere from now on. */
  hide(texts: readonly string[]): void
}

/**
 * Creates a redactor for the configuration's keys, and for what the sandbox proxy adds to requests, with or without a
 * provider of the host.
 */
export function createRedactor(
  { secrets: configured = noSecrets, options }: Pick<SessionSetup, 'secrets' | 'options'>,
  emit: (event: AgentEvent) => void,
): Redactor {
  const { securityProvider: given, network } = options
  const ofHosts = network?.secrets ?? []
  // `hide` adds to the list later, so such a session needs its own list. Other sessions share theirs: the search for
  // secrets is built once for each list.
  const grows = ofHosts.length > 0
  const secrets = grows
    ? [...configured, ...ofHosts.flatMap((secret) => hiddenTexts(valueNow(secret) ?? ''))]
    : configured
  if (given === undefined && secrets.length === 0 && !grows) return recordsOnly
  const known = defaultProvider(secrets)
  const hidden = new Set<string>()
  let isFull = false
  const provider = given ?? known
  if (given instanceof DefaultSecurityProvider) for (const secret of secrets) given.addSecret(secret)
  const redact = (text: string): string => redacted(provider, text, 'host')
  return {
    middleware: [redactResults(provider, emit)],
    watchdogs: [refuseMarks],
    text: redact,
    ...((secrets.length > 0 || grows) && {
      withoutKeys: <Value>(value: Value) => redactValue(value, (text) => redacted(known, text, 'host')),
    }),
    hide(texts) {
      for (const text of texts) {
        if (hidden.has(text)) continue
        if (hidden.size >= maxHidden) {
          if (!isFull)
            emit({
              type: 'notice',
              source: 'secrets',
              message: `This session has redacted ${maxHidden} different secrets of hosts. Further ones are sent, but not redacted: open a new session.`,
            })
          isFull = true
          continue
        }
        hidden.add(text)
        known.addSecret(text)
        if (given instanceof DefaultSecurityProvider) given.addSecret(text)
      }
    },
    forModel: (text) => redacted(provider, text, 'model'),
    record: (text) => provider.redactOutput?.(text, 'record') ?? text,
    // The host's provider may be of a class that changes more than the default one.
    ...(given === undefined && { isCleanRecord: (json: string) => isClean(known, json, 'record') }),
    tokens: redactTokens,
    events: (pass) => redactEvents(provider, redact, pass),
  }
}

const noSecrets: readonly string[] = []

/**
 * The provider for sessions without one: removes the configuration's keys everywhere, and texts that look like tokens
 * from records and traces. The model sees tool output unchanged. Shared by all sessions of an agent, because the search
 * for secrets is larger than everything else in an idle session.
 */
function defaultProvider(secrets: readonly string[]): DefaultSecurityProvider {
  const known = defaultProviders.get(secrets)
  if (known !== undefined) return known
  const provider = new DefaultSecurityProvider({ kinds: [], kindsFor: { record: ['secrets'] } })
  for (const secret of secrets) provider.addSecret(secret)
  defaultProviders.set(secrets, provider)
  return provider
}

/**
 * The maximum number of hidden texts: a function that creates a new token for each request must not fill the memory.
 */
const maxHidden = 1000

const defaultProviders = new WeakMap<readonly string[], DefaultSecurityProvider>()

/** Redacts a text. Throws if the provider does not return a string, because it could pass through unredacted. */
function redacted(provider: SecurityProvider, text: string, target: TextTarget): string {
  const clean: unknown = provider.redactOutput?.(text, target) ?? text
  if (typeof clean === 'string') return clean
  throw new TypeError(
    `The security provider's redactOutput gave a value of type ${typeof clean}, not a string.`,
  )
}

const writing: ReadonlySet<string> = new Set(['write', 'edit', 'patch'])

const refuseMarks: Watchdog = ({ tool, args }) =>
  writing.has(tool) && serializeToolOutput(args).includes('[REDACTED:')
    ? {
        action: 'deny',
        reason:
          'the text holds a mark such as [REDACTED:SECRET], which replaces something that was not shown; writing it would destroy that. Change only the lines around it',
      }
    : { action: 'allow' }

const tokens = new DefaultSecurityProvider()

function redactTokens(text: string, target: TextTarget): string {
  return tokens.redactOutput(text, target)
}

/** The redactor of a session without a provider and without keys: it checks only what is written to the log. */
const recordsOnly: Redactor = {
  middleware: [],
  watchdogs: [],
  text: (text) => text,
  forModel: (text) => text,
  record: (text) => redactTokens(text, 'record'),
  isCleanRecord: (json) => isClean(tokens, json, 'record'),
  tokens: redactTokens,
  events: (pass) => pass,
  hide: () => undefined,
}

function redactResults(provider: SecurityProvider, emit: (event: AgentEvent) => void): AgentMiddleware {
  return forEveryOutput({
    onToolOutput({ toolName, result }) {
      for (const { kind, excerpt } of provider.inspectInput?.(result).findings ?? [])
        emit({
          type: 'notice',
          source: toolName,
          message: `Suspicious text in a result (${kind}): ${excerpt}`,
        })
      const clean = redacted(provider, result, 'model')
      return clean === result ? undefined : clean
    },
  })
}

/**
 * Redacts events with text that arrives in pieces. The text of an answer is one stream until another type of event
 * comes; the input or output of a call is one stream until it is complete, because events of parallel calls are
 * interleaved.
 */
function redactEvents(
  provider: SecurityProvider,
  redact: (text: string) => string,
  pass: (event: AgentEvent) => void,
): (event: AgentEvent) => void {
  const open = new Map<string, { readonly last: Delta; readonly stream: TextStream }>()
  const flush = (key: string): void => {
    const one = open.get(key)
    open.delete(key)
    if (one !== undefined) passDelta(one.last, one.stream.end())
  }
  // Secrets with a known form can be found only in a whole piece; the pieces from tools are larger than those from
  // models.
  const passDelta = (delta: Delta, text: string): void => {
    if (text !== '') pass({ ...delta, text: 'toolId' in delta ? redact(text) : text })
  }
  const endedBy = (event: AgentEvent): readonly string[] => {
    if (isTerminal(event)) return [...open.keys()]
    if (event.type === 'tool_execution_start') return [...spoken, `tool_input_delta ${event.toolId}`]
    if (event.type !== 'tool_end') return spoken
    return [...spoken, `tool_input_delta ${event.toolId}`, `tool_output_delta ${event.toolId}`]
  }
  return (event) => {
    const own = isDelta(event) ? keyOf(event) : ''
    for (const key of endedBy(event)) if (key !== own) flush(key)
    // An event that is complete in itself has no boundary with the next one.
    if (!isDelta(event) || 'whole' in event) {
      pass(withRedactedTexts(event, redact))
      return
    }
    const stream = open.get(own)?.stream ?? provider.redactStream?.() ?? wholePieces(redact)
    open.set(own, { last: event, stream })
    passDelta(event, stream.push(event.text))
  }
}

type Delta = Extract<
  AgentEvent,
  { type: 'text_delta' | 'reasoning_delta' | 'tool_input_delta' | 'tool_output_delta' }
>
const spoken = ['text_delta', 'reasoning_delta'] as const

function isDelta(event: AgentEvent): event is Delta {
  return event.type.endsWith('_delta')
}

function keyOf(event: Delta): string {
  return 'toolId' in event ? `${event.type} ${event.toolId}` : event.type
}

function wholePieces(redact: (text: string) => string): TextStream {
  return { push: redact, end: () => '' }
}

/**
 * Redacts every text of an event at any depth: a plan, a summary, text of an agent inside a tool. Type and ids stay.
 */
function withRedactedTexts(event: AgentEvent, redact: (text: string) => string): AgentEvent {
  const { type, ...fields } = event
  const clean = redactValue(fields, redact)
  if (clean === fields) return event
  const ids = 'toolId' in event ? { toolId: event.toolId } : {}
  return { ...clean, ...ids, type } as AgentEvent
}
