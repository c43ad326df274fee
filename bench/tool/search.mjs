// Finding tools: the index against the plain way to write it.
import { createLexicalToolIndex, createToolIndex } from 'capstan/tool'
import MiniSearch from 'minisearch'
import { growthExponent, growthSizes, interleave, keep } from '../measure.mjs'
import { timingArea } from '../report.mjs'
import { makeQueries, randomFrom, syntheticModel } from '../synthetic.mjs'

// No entry exports these, so they are imported from the modules of the build.
const modules = new URL('../../.build/modules/tool/search/', import.meta.url)
/** @type {typeof import('../../src/tool/search/vector-block.js')} */
const { VectorBlock } = await import(new URL('vector-block.js', modules).href)
/** @type {typeof import('../../src/tool/search/words.js')} */
const { wordsOf } = await import(new URL('words.js', modules).href)

/** @typedef {import('capstan/tool').AnyGovernedTool} AnyGovernedTool */
/** @typedef {import('capstan/tool').EmbeddingModel} EmbeddingModel */
/** @typedef {{ name: string, vectors: number[][] }[]} PlainIndex */

const topK = 10
const queries = makeQueries(16)

/**
 * Search by meaning at one size of vector. Throws when the index and the plain way do not find the same.
 * @param {number} seconds
 * @param {readonly AnyGovernedTool[]} tools
 * @param {number} dimensions
 */
export async function measureSearch(seconds, tools, dimensions) {
  const model = syntheticModel(dimensions)
  const plain = await plainIndex(model, tools)
  const index = await createToolIndex(model, tools)
  for (const query of queries) {
    const expected = (await plainSearch(model, plain, query)).map(({ name }) => name).join(' ')
    const found = (await index.search({ query, topK })).map(({ id }) => id).join(' ')
    if (found !== expected)
      throw new Error(`"${query}" at ${dimensions} dimensions:\n  index ${found}\n  plain ${expected}`)
  }

  const block = new VectorBlock()
  for (const vector of plain.flatMap(({ vectors }) => vectors)) block.push(vector)
  const vectors = await Promise.all(queries.map((query) => vectorOf(model, query)))
  const searches = await interleave(
    [
      {
        name: 'plain: number[], one loop, sort, slice',
        run: eachQuery((at) => plainSearch(model, plain, queryAt(at))),
      },
      { name: 'index.search', run: eachQuery((at) => index.search({ query: queryAt(at), topK })) },
      { name: '  its scores alone', run: eachQuery((at) => keep(block.scores(vectors[at] ?? []))) },
    ],
    { seconds: seconds * 0.6 },
  )
  const builds = await interleave(
    [
      { name: 'plain: keep the vectors', times: 1, run: () => plainIndex(model, tools) },
      { name: 'createToolIndex', times: 1, run: () => createToolIndex(model, tools) },
    ],
    { seconds: seconds * 0.4 },
  )
  const [count, rows, length] = [tools.length, block.rows, dimensions].map((n) => n.toLocaleString('en-US'))
  const size = `${count} tools, ${rows} vectors of ${length}`
  const areas = [
    timingArea(
      `Search by meaning, ${size}`,
      `The best ${topK}, the query's embedding free; ratio to the plain way (0.1: ten times faster). Both found the same.`,
      searches,
      'search',
    ),
    timingArea(
      `Building that index, ${size}`,
      'From tools to an index, embeddings free; ratio to only keeping the vectors. Paid once, where each search saves.',
      builds,
      'build',
    ),
  ]
  return { areas, speedup: 1 / (searches[1]?.ratio.median ?? Number.NaN) }
}

/** @param {number} seconds @param {readonly AnyGovernedTool[]} tools */
export async function measureLexical(seconds, tools) {
  const index = await createLexicalToolIndex(tools)
  const bare = bareMiniSearch(tools)
  const searches = await interleave(
    [
      {
        name: 'MiniSearch by itself, the same words',
        run: eachQuery((at) => bare.search(queryAt(at)).slice(0, topK)),
      },
      { name: 'index.search', run: eachQuery((at) => index.search({ query: queryAt(at), topK })) },
    ],
    { seconds: seconds * 0.6 },
  )
  const builds = await interleave(
    [
      { name: 'MiniSearch by itself', times: 1, run: () => bareMiniSearch(tools) },
      { name: 'createLexicalToolIndex', times: 1, run: () => createLexicalToolIndex(tools) },
    ],
    { seconds: seconds * 0.4 },
  )
  const size = `${tools.length.toLocaleString('en-US')} tools`
  return [
    timingArea(
      `Search by words, ${size}`,
      'The best 10 by BM25, with prefixes and misspellings; ratio to the library alone.',
      searches,
      'search',
    ),
    timingArea(
      `Building the word index, ${size}`,
      'From tools to an index; ratio to the library alone.',
      builds,
      'build',
    ),
  ]
}

/** @param {number} seconds @param {readonly AnyGovernedTool[]} tools */
export async function measureUpdates(seconds, tools) {
  const model = syntheticModel(256)
  const random = randomFrom(7)
  const byMeaning = await createToolIndex(model, tools)
  const byWords = await createLexicalToolIndex(tools)
  const replace = (/** @type {typeof byMeaning} */ index) => async (/** @type {number} */ times) => {
    for (let i = 0; i < times; i++) {
      const tool = tools[Math.floor(random() * tools.length)]
      if (tool === undefined || !index.remove(tool.name)) throw new Error('the tool was not in the index')
      await index.add([tool])
    }
  }
  const timings = await interleave(
    [
      { name: 'by meaning: build the index', times: 1, run: () => createToolIndex(model, tools) },
      { name: 'by meaning: remove one, add it again', run: replace(byMeaning) },
      { name: 'by words: build the index', times: 1, run: () => createLexicalToolIndex(tools) },
      { name: 'by words: remove one, add it again', run: replace(byWords) },
    ],
    { seconds },
  )
  return timingArea(
    `Following a change, ${tools.length.toLocaleString('en-US')} tools, vectors of 256`,
    'One tool of an index removed and added, embeddings free; ratio to building the index by meaning.',
    timings,
    'change',
  )
}

/** @param {number} seconds @param {readonly AnyGovernedTool[]} tools at least 100 */
export async function measureSearchGrowth(seconds, tools) {
  const model = syntheticModel(256)
  const sizes = growthSizes(tools.length)
  const indexes = await Promise.all(sizes.map((size) => createToolIndex(model, tools.slice(0, size))))
  for (const query of queries) await vectorOf(model, query)
  const timings = await interleave(
    sizes.map((size, at) => ({
      name: `${size.toLocaleString('en-US')} tools`,
      run: eachQuery((query) => indexes[at]?.search({ query: queryAt(query), topK })),
    })),
    { seconds },
  )
  const area = timingArea(
    'Growth of search, three vectors of 256 a tool',
    'One search as the tools grow in number; ratio to 10 tools.',
    timings,
    'search',
  )
  const points = sizes.map((size, at) => ({ size, value: timings[at]?.micros.median ?? Number.NaN }))
  const exponent = growthExponent(points)
  const lastExponent = growthExponent(points.slice(-2))
  console.log(`  grows with the number of tools to the power ${exponent.toFixed(2)} (1: in proportion),`)
  console.log(`  from the last but one size to the last to the power ${lastExponent.toFixed(2)}`)
  return { ...area, exponent, lastExponent }
}

/** @param {EmbeddingModel} model @param {readonly AnyGovernedTool[]} tools @returns {Promise<PlainIndex>} */
async function plainIndex(model, tools) {
  const texts = tools.flatMap((tool) => [tool.name, tool.description, JSON.stringify(tool.parameters)])
  const embeddings = await model.embedTexts(texts)
  return tools.map(({ name }, at) => ({
    name,
    vectors: embeddings.slice(at * 3, at * 3 + 3).map(({ vector }) => /** @type {number[]} */ (vector)),
  }))
}

/** @param {EmbeddingModel} model @param {PlainIndex} documents @param {string} query */
async function plainSearch(model, documents, query) {
  const vector = await vectorOf(model, query)
  return documents
    .map(({ name, vectors }) => {
      let score = -1
      for (const own of vectors) score = Math.max(score, cosine(vector, own))
      return { name, score }
    })
    .sort((a, b) => b.score - a.score)
    .slice(0, topK)
}

/** @param {number[]} a @param {number[]} b */
function cosine(a, b) {
  let dot = 0
  let squaresA = 0
  let squaresB = 0
  for (let i = 0; i < a.length; i++) {
    const x = /** @type {number} */ (a[i])
    const y = /** @type {number} */ (b[i])
    dot += x * y
    squaresA += x * x
    squaresB += y * y
  }
  return dot / Math.sqrt(squaresA * squaresB)
}

/** @param {EmbeddingModel} model @param {string} text */
async function vectorOf(model, text) {
  const [embedding] = await model.embedTexts([text])
  return /** @type {number[]} */ (embedding?.vector ?? [])
}

/** @param {readonly AnyGovernedTool[]} tools */
function bareMiniSearch(tools) {
  const search = new MiniSearch({
    fields: ['name', 'description', 'parameters'],
    tokenize: wordsOf,
    processTerm: (word) => word,
    searchOptions: {
      prefix: (word) => word.length >= 3,
      fuzzy: (word) => (word.length >= 5 ? 0.2 : false),
    },
  })
  search.addAll(
    tools.map(({ name, description, parameters }) => ({
      id: name,
      name,
      description,
      parameters: parameterText(parameters),
    })),
  )
  return search
}

/** @param {import('capstan/tool').JsonSchema} schema */
function parameterText({ properties }) {
  return Object.entries(/** @type {Record<string, { description?: string }>} */ (properties))
    .map(([name, { description = '' }]) => `${name} ${description}`)
    .join('\n')
}

/** Runs the work for one query after the other. @param {(at: number) => unknown} work */
function eachQuery(work) {
  return async (/** @type {number} */ times) => {
    for (let i = 0; i < times; i++) keep(await work(i % queries.length))
  }
}

/** @param {number} at */
function queryAt(at) {
  return queries[at] ?? ''
}
