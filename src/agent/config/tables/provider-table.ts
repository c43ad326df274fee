import type { AwsAccess } from '../../../model/bedrock/sign.js'
import type { ModelPrice } from '../../../model/model.js'
import type { RateLimit } from '../../../model/pacer.js'
import type { VertexAccess } from '../../../model/vertex/vertex-endpoint.js'
import { omitUndefined } from '../../../tool/omit-undefined.js'
import { type Modalities, type ModelEntry, modelApis, type ProviderConfig, type Reach } from '../config.js'
import { entries, type Origin } from '../entries.js'
import { field, type Kind, type Shape } from '../field.js'
import {
  address,
  amount,
  flag,
  group,
  header,
  headers,
  listOf,
  path,
  secret,
  text,
  whole,
  word,
} from '../kinds.js'

type Limit = { readonly context?: number; readonly output?: number }
type ModelFields = Omit<ModelEntry, 'id' | 'cost'> & {
  readonly limit?: Limit
  readonly cost?: Partial<ModelPrice>
}

const rateLimit: Shape<RateLimit> = {
  requestsPerMinute: field(whole(1), 'requests in each minute'),
  tokensPerMinute: field(whole(1), 'tokens of requests and answers in each minute'),
}

const aws: Shape<AwsAccess> = {
  region: field(text, 'region, such as `us-east-1`'),
  accessKeyId: field(text, 'id of the access key'),
  secretAccessKey: field(secret, 'secret access key; write `env("AWS_SECRET_ACCESS_KEY")`'),
  sessionToken: field(secret, 'token of temporary credentials'),
}

const vertex: Shape<VertexAccess> = {
  project: field(text, 'id of the project'),
  location: field(text, 'location, such as `europe-west1` (default: `global`)'),
  credentialsFile: field(path, 'credentials file of a service account or of a user'),
}

const reach: Shape<Reach> = {
  api: field(word(modelApis), 'protocol of the endpoint, if the name of the provider does not determine it'),
  apiKey: field(secret, 'API key; write `env("NAME")`, not the key itself'),
  baseUrl: field(address, 'URL of the endpoint'),
  accessToken: field(
    secret,
    'token in place of a key, such as of Microsoft Entra for Azure, or of Google for Vertex AI',
  ),
  aws: field(group(aws), 'region and credentials of Bedrock'),
  vertex: field(group(vertex), 'project, location and credentials file of Vertex AI'),
  apiVersion: field(text, 'version of the API, for Azure (default: the current one)'),
  proxy: field(secret, 'URL of an HTTP proxy, or `off` (default: that of the environment)'),
  caFile: field(path, 'file with certificates (PEM) that are trusted in addition to the usual ones'),
  promptCache: field(
    word(['off', '5m', '1h', '24h']),
    'how long the provider caches the start of requests (default: its own choice)',
  ),
  rateLimit: field(group(rateLimit), 'rate limits of each model, over all sessions of the agent'),
  sessionIdHeader: field(header, 'name of a header that is set to the session id'),
  headers: field(headers, 'additional headers of each request'),
}

const limit: Shape<Limit> = {
  context: field(whole(1), 'maximum number of tokens of a request and its answer together'),
  output: field(whole(1), 'maximum number of tokens of an answer'),
}

const modalities: Shape<Modalities> = {
  input: field(listOf(text), 'input types: `text`, `image`, `pdf`, `audio`, `video`'),
  output: field(listOf(text), 'output types'),
}

const cost: Shape<Omit<ModelPrice, 'tiers'>> = {
  input: field(amount(), 'price of input tokens'),
  output: field(amount(), 'price of output tokens'),
  cacheRead: field(amount(), 'price of tokens that are read from the cache'),
  cacheWrite: field(amount(), 'price of tokens that are written to the cache'),
}

const model: Shape<ModelFields> = {
  name: field(text, 'display name (default: the label)'),
  family: field(text, 'model family'),
  ...reach,
  attachment: field(flag, 'supports images and documents; `modalities` is more exact'),
  reasoning: field(flag, 'supports reasoning'),
  toolCall: field(flag, 'supports tool calls'),
  structuredOutput: field(flag, 'supports answers that follow a JSON Schema'),
  temperature: field(flag, 'supports a temperature'),
  releaseDate: field(text, 'release date'),
  contextTokens: field(whole(1), 'same as `limit.context`', 'maxContextTokens'),
  outputTokens: field(whole(1), 'same as `limit.output`', 'maxTokens'),
  limit: field(group(limit), 'token limits'),
  modalities: field(group(modalities), 'input and output types'),
  cost: field(group(cost), 'US dollars per million tokens; `input` and `output` are both required'),
}

const models = entries({ shape: model, nameField: 'id', example: '"gpt-4" { ... }', make: makeModel })

const provider: Shape<Omit<ProviderConfig, 'name'>> = {
  ...reach,
  models: field(models, 'model; its label is the id in requests'),
}

export const providers: Kind<readonly ProviderConfig[]> = entries({
  shape: provider,
  nameField: 'name',
  example: '"openai" { ... }',
  make: (name, fields) => ({ name, ...fields, models: fields.models ?? [] }),
})

/** Merges the two spellings of the token limits, and drops an incomplete price. */
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
    ...omitUndefined({ contextTokens, outputTokens, cost: price }),
  }
}

function either(
  flat: number | undefined,
  inLimit: number | undefined,
  what: string,
  { spot, reading }: Origin,
) {
  if (flat !== undefined && inLimit !== undefined && flat !== inLimit) {
    reading.warn(spot, `${spot.path} gives limit.${what} and another value for it; limit.${what} is used`)
  }
  return inLimit ?? flat
}

function completePrice({ input, output, ...caches }: Partial<ModelPrice>, { spot, reading }: Origin) {
  if (input !== undefined && output !== undefined) return { input, output, ...caches }
  reading.fail(spot, `${spot.path}.cost needs both "input" and "output"; remove cost if they are not known`)
  return undefined
}
