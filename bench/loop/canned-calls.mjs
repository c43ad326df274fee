// Answers that call tools in other ways than one after the other.
import { toolParts } from '../synthetic.mjs'
import { chunk, usage } from './chunks.mjs'

/** So many calls in one answer, of the tool that is offered for it. @param {number} count @param {Buffer} body */
export function parallelCalls(count, body) {
  const name = body.includes('"name":"look"') ? 'look' : 'read'
  return callsOf(
    Array.from({ length: count }, (_, at) => ({
      id: `call_${at}`,
      name,
      args: { file_path: `src/part-${at}.ts` },
    })),
  )
}

/** What libraries call the tool that finds tools, and what it wants to know. */
const searches = [
  { name: 'tool_search', args: (/** @type {Sought} */ { description }) => ({ query: description }) },
  { name: 'search_tools', args: (/** @type {Sought} */ { description }) => ({ query: description }) },
  { name: '__lazy__tool__discovery__', args: (/** @type {Sought} */ { name }) => ({ toolNames: [name] }) },
]
/** @typedef {{ name: string, description: string }} Sought */

/**
 * One tool of many, by its number: found first when there is a tool for that, then called; then there is nothing to do.
 * @param {number} number
 * @param {Buffer} body
 * @param {number} results how many calls have been answered
 */
export function searchAndCall(number, body, results) {
  const { name, description, parameters } = toolParts(number)
  const search = searches.find((one) => body.includes(`"name":"${one.name}"`))
  const steps = [
    ...(search === undefined
      ? []
      : [{ id: 'call_0', name: search.name, args: search.args({ name, description }) }]),
    { id: 'call_1', name, args: { [parameters().required[0] ?? '']: 'one', limit: 1 } },
  ]
  const step = steps[results]
  return step === undefined ? undefined : callsOf([step])
}

/** @param {readonly { id: string, name: string, args: unknown }[]} calls */
function callsOf(calls) {
  return [
    chunk({ role: 'assistant', content: null }),
    ...calls.flatMap(({ id, name, args }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      chunk({ tool_calls: [{ index, function: { arguments: JSON.stringify(args) } }] }),
    ]),
    chunk({}, 'tool_calls'),
    usage,
  ]
}
