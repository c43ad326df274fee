import type { ModelPrice } from '../../../model/model.js'
import { type Modalities, type ModelEntry, modelApis, type ProviderConfig, type Reach } from '../config.js'
import { entries, type Origin } from '../entries.js'
import { field, type Kind, type Shape } from '../field.js'
import { address, amount, flag, group, header, headers, listOf, secret, text, whole, word } from '../kinds.js'

type Limit = { readonly context?: number; readonly output?: number }
type ModelFields = Omit<ModelEntry, 'id' | 'cost'> & {
  readonly limit?: Limit
  readonly cost?: Partial<ModelPrice>
}

const reach: Shape<Reach> = {
  api: field(
    word(modelApis),
    'the protocol of the endpoint, where the name of the provider does not tell it',
  ),
  apiKey: field(secret, 'the key; write `env("NAME")` instead of the key itself'),
  baseUrl: field(address, 'where the endpoint is'),
  sessionIdHeader: field(header, 'the name of a header that receives the id of the session'),
  headers: field(headers, 'further headers of each request'),
}

const limit: Shape<Limit> = {
  context: field(whole(1), 'how many tokens a request and its answer may have together'),
  output: field(whole(1), 'how many tokens an answer may have'),
}

const modalities: Shape<Modalities> = {
  input: field(listOf(text), 'what it reads: `text`, `image`, `pdf`, …'),
  output: field(listOf(text), 'what it writes'),
}

const cost: Shape<ModelPrice> = {
  input: field(amount(), 'for what is sent'),
  output: field(amount(), 'for what is answered'),
  cacheRead: field(amount(), 'for what is read from the cache'),
  cacheWrite: field(amount(), 'for what is written to the cache'),
}

const model: Shape<ModelFields> = {
  name: field(text, 'how people call it; the label when left out'),
  family: field(text, 'the family it belongs to'),
  ...reach,
  attachment: field(flag, 'whether it reads images and documents; `modalities` says it more exactly'),
  reasoning: field(flag, 'whether it thinks before it answers'),
  toolCall: field(flag, 'whether it calls tools'),
  structuredOutput: field(flag, 'whether its server holds answers to a JSON Schema'),
  temperature: field(flag, 'whether it takes a temperature'),
  releaseDate: field(text, 'when it was published'),
  contextTokens: field(whole(1), 'the same as `limit.context`', 'maxContextTokens'),
  outputTokens: field(whole(1), 'the same as `limit.output`', 'maxTokens'),
  limit: field(group(limit), 'how large requests and answers may be'),
  modalities: field(group(modalities), 'what goes in and what comes out'),
  cost: field(group(cost), 'US dollars for a million tokens; `input` and `output` are both needed'),
}

const models = entries({ shape: model, nameField: 'id', example: '"gpt-4" { ... }', make: makeModel })

const provider: Shape<Omit<ProviderConfig, 'name'>> = {
  ...reach,
  models: field(models, 'a model; its label is the id that goes over the wire'),
}

export const providers: Kind<readonly ProviderConfig[]> = entries({
  shape: provider,
  nameField: 'name',
  example: '"openai" { ... }',
  make: (name, fields) => ({ name, ...fields, models: fields.models ?? [] }),
})

/** Two ways lead to the size limits and one way out; what cannot be counted with is no price. */
function makeModel(
  id: string,
  { limit: sizes, cost: prices, ...fields }: Partial<ModelFields>,
  from: Origin,
): ModelEntry {
  const contextTokens = either(fields.contextTokens, sizes?.context, 'context', from)
  const outputTokens = either(fields.outputTokens, sizes?.output, 'output', from)
  const price = prices && completePrice(prices, from)
  return {
    id,
    ...fields,
    ...(contextTokens !== undefined && { contextTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(price !== undefined && { cost: price }),
  }
}

function either(
  flat: number | undefined,
  inLimit: number | undefined,
  what: string,
  { spot, reading }: Origin,
) {
  if (flat !== undefined && inLimit !== undefined && flat !== inLimit) {
    reading.warn(spot, `${spot.path} gives limit.${what} and another number beside it; limit.${what} counts`)
  }
  return inLimit ?? flat
}

function completePrice({ input, output, ...caches }: Partial<ModelPrice>, { spot, reading }: Origin) {
  if (input !== undefined && output !== undefined) return { input, output, ...caches }
  reading.fail(
    spot,
    `${spot.path}.cost needs both "input" and "output"; leave cost out when they are not known`,
  )
  return undefined
}
