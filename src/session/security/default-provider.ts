import { CapstanError, markErrorClass } from '../../tool/errors.js'
import { nearestNames, quoteNames } from '../../tool/nearest.js'
import { findInjections } from './findings.js'
import type { SecurityFinding, SecurityProvider, TextStream, TextTarget } from './provider.js'
import { createRedactingStream } from './redacting-stream.js'
import { formsOf, minSecretLength } from './secret-forms.js'
import {
  isCleanJson,
  isRedactionKind,
  markFor,
  personalKinds,
  type RedactionKind,
  redactShapes,
  secretKinds,
} from './shapes.js'
import { createWordFinder, type WordFinder } from './word-finder.js'

/** Options of {@link DefaultSecurityProvider}. */
export type SecurityOptions = {
  /** The kinds that are found by their form. Default: the secrets; `'personal'` and `'all'` include several kinds. */
  readonly kinds?: readonly (RedactionKind | 'secrets' | 'personal' | 'all')[]
  /** Other kinds for one target. */
  readonly kindsFor?: Partial<Readonly<Record<TextTarget, SecurityOptions['kinds']>>>
  /** Values that must appear nowhere, in none of their usual forms. Each has at least 8 characters. */
  readonly secrets?: readonly string[]
  /** Your own kinds of tokens: every text with this prefix that is long enough. */
  readonly tokens?: readonly TokenShape[]
}

/**
 * A kind of token: `{ name: 'ACME', prefix: 'acme_', minLength: 20 }` matches at least 20 letters, digits, `_` or `-`
 * after `acme_`.
 */
export type TokenShape = { readonly name: string; readonly prefix: string; readonly minLength?: number }

/** Thrown when a setting of the provider is invalid. */
export class SecurityOptionsError extends CapstanError {
  constructor(message: string) {
    super('invalid_security_options', message)
  }
}

markErrorClass(SecurityOptionsError, 'SecurityOptionsError')

/**
 * Whether `redactOutput` of a provider would leave every text inside a JSON text unchanged. False: it may change one.
 * Searching the whole takes a fraction of the time of searching each of its texts.
 */
let isClean: (provider: DefaultSecurityProvider, json: string, target: TextTarget) => boolean

/**
 * Redacts secrets in texts, and reports texts from outside that look like instructions. Named secrets are replaced
 * everywhere, in each of their forms, and so is text that looks like a key. Personal data stays unless its redaction
 * is configured, because a model that edits a file must see its content.
 *
 * @example
 * const security = new DefaultSecurityProvider({ secrets: ['correct-horse-battery'] })
 * security.redactOutput('the word is correct-horse-battery') // 'the word is [REDACTED:SECRET]'
 */
export class DefaultSecurityProvider implements SecurityProvider {
  readonly kind = 'default'
  readonly #kinds: Readonly<Record<TextTarget, readonly RedactionKind[]>>
  readonly #tokens: readonly CompiledToken[]
  readonly #secrets = new Set<string>()
  /** Whether one of the secrets is escaped in JSON. */
  #isEscaped = false
  #finder: WordFinder | undefined

  constructor(options: SecurityOptions = {}) {
    const { kinds = ['secrets'], kindsFor = {} } = options
    this.#kinds = {
      model: readKinds(kindsFor.model ?? kinds),
      host: readKinds(kindsFor.host ?? kinds),
      record: readKinds(kindsFor.record ?? kinds),
    }
    this.#tokens = (options.tokens ?? []).map(compileToken)
    for (const secret of options.secrets ?? []) {
      if (!this.addSecret(secret))
        throw new SecurityOptionsError(
          `A secret is shorter than ${minSecretLength} characters: it cannot be distinguished from ordinary words`,
        )
    }
  }

  /** Adds a value to redact. Returns false for one that is too short to be distinguished from ordinary words. */
  addSecret(value: string): boolean {
    if (typeof value !== 'string' || value.length < minSecretLength) return false
    for (const form of formsOf(value)) this.#secrets.add(form)
    this.#isEscaped ||= JSON.stringify(value) !== `"${value}"`
    this.#finder = undefined
    return true
  }

  /** Built at the first use after a secret was added: many can be added one after the other. */
  #words(): WordFinder | undefined {
    if (this.#secrets.size > 0) this.#finder ??= createWordFinder(this.#secrets)
    return this.#finder
  }

  redactOutput(text: string, target: TextTarget = 'host'): string {
    const words = this.#words()
    const named = words === undefined ? text : redactWords(text, words)
    const own = this.#tokens.reduce((current, { pattern, mark }) => current.replace(pattern, mark), named)
    return redactShapes(own, this.#kinds[target])
  }

  /** Redacts named secrets only: secrets that are found by their form need the complete text. */
  redactStream(): TextStream {
    return createRedactingStream(this.#words() ?? createWordFinder([]), secretMark)
  }

  static {
    isClean = (provider, json, target) =>
      provider.#tokens.length === 0 &&
      !provider.#isEscaped &&
      isCleanJson(json, provider.#kinds[target]) &&
      (provider.#words()?.cover(json).length ?? 0) === 0
  }

  inspectInput(text: string): { readonly findings: readonly SecurityFinding[] } {
    return { findings: findInjections(text) }
  }
}

export { isClean }

const secretMark = markFor('SECRET')

function redactWords(text: string, finder: WordFinder): string {
  let result = ''
  let from = 0
  for (const { start, end } of finder.cover(text)) {
    result += text.slice(from, start) + secretMark
    from = end
  }
  return from === 0 ? text : result + text.slice(from)
}

function readKinds(kinds: NonNullable<SecurityOptions['kinds']>): readonly RedactionKind[] {
  const all: readonly RedactionKind[] = [...secretKinds, ...personalKinds]
  const chosen = new Set(
    kinds.flatMap((kind): readonly RedactionKind[] => {
      if (kind === 'all') return all
      if (kind === 'secrets') return secretKinds
      if (kind === 'personal') return personalKinds
      if (!isRedactionKind(kind)) throw new SecurityOptionsError(unknownKind(String(kind), all))
      return [kind]
    }),
  )
  return all.filter((kind) => chosen.has(kind))
}

function unknownKind(kind: string, all: readonly string[]): string {
  const known = ['secrets', 'personal', 'all', ...all]
  const near = nearestNames(kind, known)
  const hint = near.length > 0 ? `Did you mean ${quoteNames(near)}?` : `Known: ${known.join(', ')}.`
  return `There is no kind "${kind}" to redact. ${hint}`
}

type CompiledToken = { readonly pattern: RegExp; readonly mark: string }

/** Compiles a token to a prefix and one class of characters, which no text can make slow. */
function compileToken({ name, prefix, minLength = 16 }: TokenShape): CompiledToken {
  if (!/^[A-Z0-9_]{1,32}$/.test(name))
    throw new SecurityOptionsError(`The name of a token is "${name}": use up to 32 of A-Z, 0-9 and "_"`)
  if (typeof prefix !== 'string' || prefix.length < 2)
    throw new SecurityOptionsError(`The prefix of the token ${name} has less than 2 characters`)
  if (!Number.isInteger(minLength) || minLength < 4 || minLength > 256)
    throw new SecurityOptionsError(
      `The minLength of the token ${name} is ${minLength}: it must be from 4 to 256`,
    )
  const literal = prefix.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  return {
    pattern: new RegExp(`(?<![A-Za-z0-9])${literal}[A-Za-z0-9_-]{${minLength},}`, 'g'),
    mark: markFor(name),
  }
}
