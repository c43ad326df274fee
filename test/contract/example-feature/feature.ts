import type { FeatureContext } from '../../../src/feature/feature-context.js'
import { type Check, object } from '../../../src/feature/option-check.js'
import type { SessionFeature } from '../../../src/feature/session-feature.js'
import { createJsonTool } from '../../../src/tool/create-json-tool.js'

/** The option of the feature. Add the type to `SessionOptions` in `session/options.ts`. */
export type TermsFeatureOptions = {
  /** Words of the project with their meaning, which the model can look up. */
  readonly terms?: Readonly<Record<string, string>>
}

const terms: Check = (value) =>
  object(value) ??
  (Object.values(value as object).every((meaning) => typeof meaning === 'string')
    ? undefined
    : '% must have a string for each word.')

/** Lists the words of a project in the system prompt, and explains them with a tool. */
export const termsFeature: SessionFeature<Terms, TermsFeatureOptions> = {
  name: 'terms',
  create: (session) => new Terms(session),
  options: { terms },
  tools: ({ terms: given }) => (given === undefined ? [] : [termTool(given)]),
  promptSection: ({ options }) =>
    options.terms && `# Words of this project\n${Object.keys(options.terms).join(', ')}: see the tool term.`,
  onEvent(session, event) {
    if (event.type === 'tool_end' && event.toolName === 'term') session.use(termsFeature).lookups += 1
  },
  afterRun: (session) => session.peek(termsFeature)?.report(),
}

/** The state of one session: created when the first word is looked up. */
class Terms {
  readonly #session: FeatureContext
  lookups = 0

  constructor(session: FeatureContext) {
    this.#session = session
  }

  report(): void {
    this.#session.emit({ type: 'notice', source: 'terms', message: `${this.lookups} looked up` })
  }
}

function termTool(known: Readonly<Record<string, string>>) {
  return createJsonTool<{ word: string }, string>({
    name: 'term',
    description: 'Explain a word of this project.',
    kind: 'read',
    idempotent: true,
    parameters: {
      type: 'object',
      properties: { word: { type: 'string', enum: Object.keys(known) } },
      required: ['word'],
      additionalProperties: false,
    },
    execute: ({ word }) => known[word] ?? 'It is not a word of this project.',
  })
}
