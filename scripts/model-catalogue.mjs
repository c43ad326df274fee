// Writes src/model/catalogue/snapshot.txt and snapshot.ts: what is known about the models of the usual providers.
//
//   node scripts/model-catalogue.mjs
//
// The data is that of a maintained package, which is fetched for this script alone and is not a dependency. To update,
// change the version below, run the script, and look at the difference.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

const source = { name: '@earendil-works/pi-ai', version: '1.5.0' }

/** Our name of a provider, and the file of the package. */
const providers = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  vertex: 'google-vertex',
  mistral: 'mistral',
  xai: 'xai',
  deepseek: 'deepseek',
  groq: 'groq',
  together: 'together',
  azure: 'azure',
  bedrock: 'amazon-bedrock',
  cerebras: 'cerebras',
  fireworks: 'fireworks',
  moonshot: 'moonshotai',
  glm: 'zai',
  openrouter: 'openrouter',
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

/** Fetches the package, and returns the directory of its data. */
function fetchSource() {
  const directory = join(root, '.build/model-catalogue')
  const data = join(directory, 'package/dist/providers/data')
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const packed = execFileSync('npm', ['pack', `${source.name}@${source.version}`, '--silent'], {
    cwd: directory,
    encoding: 'utf8',
  })
  execFileSync('tar', ['xzf', packed.trim()], { cwd: directory })
  if (!existsSync(data)) throw new Error(`${source.name} ${source.version} has no data where it was expected`)
  return data
}

/** @param {string} directory @param {string} file @returns {SourceModel[]} */
function readModels(directory, file) {
  const groups = JSON.parse(readFileSync(join(directory, `${file}.json`), 'utf8'))
  return Object.values(groups)
    .flatMap((group) => Object.values(group))
    .filter(({ type }) => type === 'chat')
}

/** @param {SourceModel} model */
function line(model) {
  const { id, input, cost, contextWindow = 0, maxTokens = 0 } = model
  if (/\s/.test(id)) throw new Error(`The id of a model contains a space: ${id}`)
  const tiers = (cost?.tiers ?? []).map((tier) => `${tier.inputTokensAbove}:${prices(tier).join(':')}`)
  const flags = `${input.includes('image') ? 'i' : ''}${reasoningLevels(model)}` || '-'
  const isPriced = cost !== undefined && (cost.input > 0 || cost.output > 0 || id.endsWith(':free'))
  return [id, contextWindow, maxTokens, flags, ...(isPriced ? [...prices(cost), ...tiers] : [])].join(' ')
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

/** A model of a region (`eu.…`) is left out where it is like the one without a region. @param {SourceModel[]} models */
function withoutRegions(models) {
  const lines = new Map(models.map((model) => [model.id, line(model)]))
  return models.filter(({ id }) => {
    const plain = id.replace(/^(?:us-gov|us|eu|apac|au|jp|global)\./, '')
    return plain === id || lines.get(plain)?.slice(plain.length) !== lines.get(id)?.slice(id.length)
  })
}

const directory = fetchSource()
const text = Object.entries(providers)
  .map(([name, file]) => {
    const models = withoutRegions(readModels(directory, file))
    const lines = models.map(line).toSorted()
    return [`[${name}]`, ...lines].join('\n')
  })
  .join('\n')

const header = `Models and their prices, from ${source.name} ${source.version} (MIT). Written by scripts/model-catalogue.mjs.`
const folder = join(root, 'src/model/catalogue')
writeFileSync(
  join(folder, 'snapshot.txt'),
  `# ${header}
#
# A line is: id, context window, longest answer, flags, then US dollars per million tokens of input, output, cache reads
# and cache writes, then tiers (above:input:output…). Flags: i images, r reasoning, followed by its levels (n minimal,
# l low, m medium, h high, x xhigh, a max). A zero is not known; without prices, they are not known.
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
 * It is the text of snapshot.txt, compressed: every run of the command loads it, and few read more than a line of it.
 */
export const snapshot =
  '${packed}'
`,
)
