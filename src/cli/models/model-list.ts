import { type AgentConfig, resolveModel } from '../../agent/config/index.js'
import { type CatalogueEntry, catalogueEntries, catalogueEntry } from '../../model/catalogue/catalogue.js'
import type { ModelPrice, ReasoningLevel } from '../../model/model.js'
import { createModel } from '../../model/provider.js'
import { roughly } from '../interactive/run/figures.js'
import type { Io } from '../io.js'
import { keyedProviders } from '../setup/known-models.js'
import { safeLine } from '../terminal/safe-text.js'
import { widthOf } from '../terminal/width.js'

/** A model that can be chosen. Unknown properties are absent. */
export type ListedModel = {
  /** `provider/model`. */
  readonly name: string
  /** Whether the configuration declares it. */
  readonly configured: boolean
  readonly contextTokens?: number | undefined
  readonly outputTokens?: number | undefined
  /** Absent when it is not known, like the properties below. */
  readonly images?: boolean | undefined
  readonly documents?: boolean | undefined
  readonly audio?: boolean | undefined
  readonly video?: boolean | undefined
  readonly reasoningLevels?: readonly ReasoningLevel[] | undefined
  readonly price?: ModelPrice | undefined
  readonly structuredOutput?: boolean | undefined
}

/** The models of the configuration, then those of the catalogue that it does not declare. */
export function listModels(config: AgentConfig): ListedModel[] {
  const configured = configuredModels(config)
  const declared = new Set(configured.map(({ name }) => name))
  return [
    ...configured,
    ...catalogueEntries()
      .map(ofEntry)
      .filter(({ name }) => !declared.has(name)),
  ]
}

/**
 * The models that can be used at once: those of the configuration, and those of the catalogue whose provider has its
 * key in the environment.
 */
export function usableModels(config: AgentConfig, env: Io['env']): ListedModel[] {
  const keyed = keyedProviders
    .filter(({ variables }) => variables.some((name) => (env[name] ?? '').trim() !== ''))
    .map(({ provider }) => provider)
    .filter((provider) => config.providers.every(({ name }) => name !== provider))
  return listModels(config).filter(
    ({ name, configured }) => configured || keyed.includes(name.slice(0, name.indexOf('/'))),
  )
}

/**
 * Formats a table with a heading: name, context window, maximum output, prices of input and output, capabilities. If
 * the terminal is too narrow, details of the capabilities are omitted, then the capabilities and the maximum output;
 * --json has all of them.
 */
export function modelTable(models: readonly ListedModel[], columns = Number.POSITIVE_INFINITY): string[] {
  const table = (chosen: readonly ColumnName[], withDetails: boolean): string[] =>
    aligned([
      chosen.map((name) => columnTitles[name]),
      ...models.map((model) => {
        const cells: Record<ColumnName, string> = {
          name: safeLine(model.name, 100),
          context: tokensText(model.contextTokens),
          output: tokensText(model.outputTokens),
          price: priceText(model.price),
          abilities: abilities(model, withDetails),
        }
        return chosen.map((name) => cells[name])
      }),
    ])
  const all = ['name', 'context', 'output', 'price', 'abilities'] as const
  const fits = (lines: readonly string[]): boolean => lines.every((line) => widthOf(line) <= columns)
  const whole = table(all, true)
  if (fits(whole)) return whole
  const shorter = table(all, false)
  return fits(shorter) ? shorter : table(['name', 'context', 'price'], false)
}

const columnTitles = {
  name: 'model',
  context: 'context',
  output: 'output',
  price: 'input / output $ per 1M',
  abilities: 'abilities',
} as const
type ColumnName = keyof typeof columnTitles

/** One line for each model, for a list to choose from. */
export function modelLabels(models: readonly ListedModel[]): string[] {
  return aligned(
    models.map(({ name, price, contextTokens }) => [
      safeLine(name, 100),
      price === undefined ? 'price unknown' : `$${priceText(price)} per 1M`,
      contextTokens === undefined ? '' : `${tokensText(contextTokens)} context`,
    ]),
  )
}

/** Pads the columns of rows so that they align. A few long names do not widen the column for all others. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => widthOf(row[at] ?? '')).filter((width) => width <= maxPadded)),
  )
  return rows.map((row) =>
    row
      .map((text, at) => text + ' '.repeat(Math.max(0, (widths[at] ?? 0) - widthOf(text))))
      .join('  ')
      .trimEnd(),
  )
}

const maxPadded = 44

function configuredModels(config: AgentConfig): ListedModel[] {
  return config.providers.flatMap(({ name: provider, models }) =>
    models.map(({ id }): ListedModel => {
      const name = `${provider}/${id}`
      const resolved = resolveModel(config, name)
      const { facts } = createModel(resolved)
      const entry = catalogueEntry(provider, id)
      const { contextTokens, outputTokens, reasoningLevels, price } = facts
      return {
        name,
        configured: true,
        contextTokens: facts.contextAssumed === true ? undefined : contextTokens,
        outputTokens,
        images: resolved.facts?.images ?? entry?.images,
        documents: resolved.facts?.documents ?? entry?.documents,
        audio: facts.audio,
        video: facts.video,
        reasoningLevels: reasoningLevels ?? (facts.reasoning ? [] : undefined),
        price,
        structuredOutput: facts.structuredOutput,
      }
    }),
  )
}

function ofEntry({ provider, id, ...facts }: CatalogueEntry): ListedModel {
  return { name: `${provider}/${id}`, configured: false, ...facts }
}

function tokensText(tokens: number | undefined): string {
  return tokens === undefined ? 'unknown' : roughly(tokens).replace('.0', '')
}

/** Formats the prices of short requests; `+` marks a model whose long requests have other prices. */
function priceText(price: ModelPrice | undefined): string {
  if (price === undefined) return 'unknown'
  return `${price.input} / ${price.output}${price.tiers === undefined ? '' : ' +'}`
}

/** Formats the capabilities; without details, only whether it accepts images and reasons. */
function abilities(model: ListedModel, withDetails: boolean): string {
  const { images, documents, audio, video, reasoningLevels } = model
  if (images === undefined && reasoningLevels === undefined) return 'unknown'
  const levels = withDetails ? (reasoningLevels ?? []) : []
  const inputs: readonly (readonly [string, boolean | undefined])[] = [
    ['images', images],
    ['pdf', withDetails && documents],
    ['audio', withDetails && audio],
    ['video', withDetails && video],
  ]
  const reasoning =
    reasoningLevels === undefined ? [] : [`reasoning${levels.length > 0 ? ` (${levels.join(', ')})` : ''}`]
  return [...inputs.flatMap(([name, has]) => (has === true ? [name] : [])), ...reasoning].join(', ')
}
