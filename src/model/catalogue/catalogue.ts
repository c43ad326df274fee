import { omitUndefined } from '../../tool/omit-undefined.js'
import type { ModelFacts, ModelPrice, PriceTier, ReasoningLevel } from '../model.js'
import { snapshot } from './snapshot.js'

/** A model of the catalogue. */
export type CatalogueEntry = {
  /** The provider's name, as it is written in a configuration. */
  readonly provider: string
  /** The id of the model in requests. */
  readonly id: string
  /** The maximum tokens of a request and its answer together. */
  readonly contextTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly images: boolean
  /** Whether it reads PDF files; assumed for models that accept images if it is not known. */
  readonly documents: boolean
  readonly audio: boolean
  readonly video: boolean
  /** The catalogue lists only models that can call tools. */
  readonly tools: true
  /** Whether its answers can follow a JSON Schema; absent when it is not known. */
  readonly structuredOutput?: boolean | undefined
  /** The levels of reasoning that it accepts; absent for a model without reasoning. */
  readonly reasoningLevels?: readonly ReasoningLevel[] | undefined
  /** US dollars per million tokens; absent when they are not known. */
  readonly price?: ModelPrice | undefined
}

/**
 * Looks a model up by its provider and id. An id with a date, `-latest` or a region is looked up without it if it has
 * no entry of its own. Undefined: nothing is known about the model.
 */
export function catalogueEntry(provider: string, id: string): CatalogueEntry | undefined {
  const name = canonicalName(provider)
  const models = catalogue().get(name)
  if (models === undefined) return undefined
  for (const each of spellings(id)) {
    const line = models.get(each)
    if (line !== undefined) return parseLine(name, line)
  }
  return undefined
}

/** All models of the catalogue, by provider and id. */
export function catalogueEntries(): CatalogueEntry[] {
  return [...catalogue()].flatMap(([provider, models]) =>
    [...models.values()].map((line) => parseLine(provider, line)),
  )
}

/** The facts of a model that its entry states. */
export function factsOfEntry(entry: CatalogueEntry): Partial<ModelFacts> {
  const { provider, contextTokens, outputTokens, images, documents, audio, video } = entry
  const { reasoningLevels, price } = entry
  return {
    ...omitUndefined({ contextTokens, outputTokens }),
    images,
    documents,
    audio,
    video,
    reasoning: reasoningLevels !== undefined,
    ...omitUndefined({ reasoningLevels }),
    // OpenAI's reasoning models reject a temperature.
    ...(reasoningLevels !== undefined && openaiHosts.has(provider) && { temperature: false }),
    ...omitUndefined({ price }),
  }
}

/** Providers that read PDF files with every model that accepts images, even where the catalogue does not list it. */
const pdfWithImages = new Set(['openai', 'azure', 'anthropic', 'google', 'vertex', 'bedrock', 'openrouter'])

const openaiHosts = new Set(['openai', 'azure'])

const otherNames = new Map([
  ['gpt', 'openai'],
  ['openai-responses', 'openai'],
  ['claude', 'anthropic'],
  ['gemini', 'google'],
  ['zhipu', 'glm'],
  ['bigmodel', 'glm'],
  ['zai', 'glm'],
  ['kimi', 'moonshot'],
  ['grok', 'xai'],
  ['amazon-bedrock', 'bedrock'],
  ['google-vertex', 'vertex'],
  ['azure-openai', 'azure'],
])

function canonicalName(provider: string): string {
  const name = provider.toLowerCase()
  return otherNames.get(name) ?? name
}

/** Returns an id, and the ids under which the same model may be listed. */
function spellings(id: string): string[] {
  const plain = id.replace(/^models\//, '').replace(/^(?:us-gov|us|eu|apac|au|jp|global)\./, '')
  return [id, plain, plain.replace(/-latest$|-\d{4}-\d{2}-\d{2}$|[-@]20\d{6}$/, '')]
}

/** The lines of the snapshot by provider and id. A line is parsed when its model is looked up. */
let lines: ReadonlyMap<string, ReadonlyMap<string, string>> | undefined

function catalogue(): ReadonlyMap<string, ReadonlyMap<string, string>> {
  lines ??= readSnapshot()
  return lines
}

function readSnapshot(): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const providers = new Map<string, Map<string, string>>()
  let models = new Map<string, string>()
  const { brotliDecompressSync } = process.getBuiltinModule('node:zlib')
  const text = brotliDecompressSync(Buffer.from(snapshot, 'base64')).toString()
  for (const line of text.split('\n')) {
    if (line.startsWith('[')) {
      models = new Map()
      providers.set(line.slice(1, -1), models)
    } else models.set(line.slice(0, line.indexOf(' ')), line)
  }
  return providers
}

function parseLine(provider: string, line: string): CatalogueEntry {
  const [id = '', context, output, flags = '-', ...amounts] = line.split(' ')
  const base = amounts.filter((amount) => !amount.includes(':'))
  const tiers = amounts.filter((amount) => amount.includes(':')).map(tierOf)
  const [own = ''] = flags.split('r')
  const images = own.includes('i')
  const structuredOutput = own.includes('s') ? true : own.includes('w') ? false : undefined
  return {
    provider,
    id,
    contextTokens: Number(context) || undefined,
    outputTokens: Number(output) || undefined,
    images,
    documents:
      own.includes('d') || (images && (structuredOutput === undefined || pdfWithImages.has(provider))),
    audio: own.includes('u'),
    video: own.includes('v'),
    tools: true,
    structuredOutput,
    reasoningLevels: levelsOf(flags),
    price: base.length === 0 ? undefined : { ...priceOf(base), ...(tiers.length > 0 && { tiers }) },
  }
}

function tierOf(text: string): PriceTier {
  const [above, ...amounts] = text.split(':')
  return { aboveInputTokens: Number(above), ...priceOf(amounts) }
}

function priceOf([input, output, cacheRead, cacheWrite]: readonly string[]): Omit<ModelPrice, 'tiers'> {
  return {
    input: Number(input),
    output: Number(output),
    ...(cacheRead !== undefined && { cacheRead: Number(cacheRead) }),
    ...(cacheWrite !== undefined && { cacheWrite: Number(cacheWrite) }),
  }
}

const letters: readonly (readonly [string, ReasoningLevel])[] = [
  ['n', 'minimal'],
  ['l', 'low'],
  ['m', 'medium'],
  ['h', 'high'],
  ['x', 'xhigh'],
  ['a', 'max'],
]

function levelsOf(flags: string): readonly ReasoningLevel[] | undefined {
  const start = flags.indexOf('r')
  if (start === -1) return undefined
  const given = flags.slice(start + 1)
  return letters.filter(([letter]) => given.includes(letter)).map(([, level]) => level)
}

/** The assumed facts of a model without a description. */
export const unknownFacts: ModelFacts = {
  contextTokens: 200_000,
  tools: true,
  images: true,
  documents: true,
  reasoning: false,
  temperature: true,
}
