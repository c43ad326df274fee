// Writes the table of built-in tools into docs/tools.md: `node scripts/tool-table.mjs`, after a build. A test compares
// the two.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

/** @typedef {{ [keyword: string]: unknown }} Schema */
/**
 * @typedef {{
 *   name: string, description: string, parameters: Schema, kind: string,
 *   limits?: { maxBytes?: number, maxItems?: number },
 *   requires: {
 *     fs?: { read?: readonly string[], write?: readonly string[] }, net?: { hosts?: readonly string[] },
 *     shell?: readonly { cmd: string }[], capabilities?: readonly string[],
 *   },
 * }} DescribedTool
 */

const begin = '<!-- tools:begin -->'
const end = '<!-- tools:end -->'

/** The table between the markers of the page. @param {readonly DescribedTool[]} tools */
export function renderToolTable(tools) {
  const rows = tools.map((tool) =>
    [
      `\`${tool.name}\``,
      firstSentence(tool.description).replace(/[*<]/g, '\\$&'),
      parametersOf(tool.parameters),
      limitsOf(tool.limits),
      requirementsOf(tool.requires),
      tool.kind,
    ].map(cell),
  )
  const head = ['tool', 'what it does', 'parameters', 'output limit', 'requires', 'kind']
  return [head, head.map(() => '---'), ...rows]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n')
    .replaceAll('| --- |', '|---|')
    .replaceAll(' --- |', '---|')
}

/** A page with the table put between its markers. @param {string} page @param {string} table */
export function withToolTable(page, table) {
  const from = page.indexOf(begin)
  const to = page.indexOf(end)
  if (from < 0 || to < from) throw new Error(`The page needs the lines ${begin} and ${end}.`)
  return `${page.slice(0, from + begin.length)}\n\n${table}\n\n${page.slice(to)}`
}

/** @param {string} text */
function firstSentence(text) {
  return /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text
}

/** @param {Schema} schema */
function parametersOf(schema) {
  const properties = record(schema['properties'])
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const shown = Object.entries(properties).map(([name, property]) => {
    const mark = required.includes(name) ? ', required' : ''
    return `\`${name}\`: ${typeOf(record(property))}${rangeOf(record(property))}${mark}`
  })
  return shown.length === 0 ? 'none' : shown.join('<br>')
}

/** @param {Schema} schema @returns {string} */
function typeOf(schema) {
  if (Array.isArray(schema['enum'])) return schema['enum'].map((value) => `\`${value}\``).join(', ')
  const type = Array.isArray(schema['type']) ? schema['type'].join(' or ') : String(schema['type'] ?? 'any')
  if (type === 'array') return `list of ${typeOf(record(schema['items']))}`
  const names = Object.keys(record(schema['properties']))
  if (type !== 'object' || names.length === 0) return type
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return `{ ${names.map((name) => `\`${name}${required.includes(name) ? '' : '?'}\``).join(', ')} }`
}

/** @param {Schema} schema */
function rangeOf(schema) {
  const { minimum, maximum, minItems, maxItems, maxLength } = schema
  const low = minimum ?? minItems
  const high = maximum ?? maxItems
  const range = high === undefined ? '' : low === undefined ? `, at most ${high}` : `, ${low} to ${high}`
  const length = typeof maxLength === 'number' ? `, at most ${maxLength} characters` : ''
  const preset = schema['default'] === undefined ? '' : ` (${JSON.stringify(schema['default'])})`
  return `${range}${length}${preset}`
}

/** @param {DescribedTool['limits']} limits */
function limitsOf(limits) {
  const { maxBytes, maxItems } = limits ?? {}
  const parts = [
    ...(maxItems === undefined ? [] : [`${maxItems} entries`]),
    ...(maxBytes === undefined ? [] : [`${Math.round(maxBytes / 1024)} KB`]),
  ]
  return parts.length === 0 ? 'usual' : parts.join(', ')
}

/** @param {DescribedTool['requires']} requires */
function requirementsOf({ fs, net, shell, capabilities }) {
  const parts = [
    ...(fs?.read?.length ? [`\`fs.read\` ${list(fs.read)}`] : []),
    ...(fs?.write?.length ? [`\`fs.write\` ${list(fs.write)}`] : []),
    ...(net?.hosts?.length ? [`\`net.fetch\` ${list(net.hosts)}`] : []),
    ...(shell?.length ? [`\`shell.run\` ${list(shell.map(({ cmd }) => cmd))}`] : []),
    ...(capabilities ?? []).map((name) => `\`${name}\``),
  ]
  return parts.length === 0 ? 'nothing' : parts.join('<br>')
}

/** @param {readonly string[]} names */
function list(names) {
  return names.map((name) => `\`${name}\``).join(', ')
}

/** @param {string} text */
function cell(text) {
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|')
}

/** @param {unknown} value @returns {Record<string, unknown>} */
function record(value) {
  return typeof value === 'object' && value !== null ? /** @type {Record<string, unknown>} */ (value) : {}
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const page = new URL('../docs/tools.md', import.meta.url)
  const { createToolbox, extensionTools, toolSearchTool } = await import(
    new URL('../dist/toolbox/index.js', import.meta.url).href
  )
  const table = renderToolTable([...createToolbox(), toolSearchTool, ...extensionTools(true)])
  writeFileSync(page, withToolTable(readFileSync(page, 'utf8'), table))
}
