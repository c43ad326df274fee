import { readYaml, type YamlFields } from './yaml/read-yaml.js'

/** A Markdown file with YAML fields at the beginning. */
export type FrontMatter = YamlFields & {
  /** The text after the fields, or the whole text when there are none. */
  readonly body: string
}

/**
 * Parses the fields between two lines of `---` at the beginning of a text. A text without them is all body. Throws
 * {@link YamlError}, with the line of the file, when they are invalid.
 *
 * @example
 * readFrontMatter('---\nname: review\n---\nLook for defects first.').fields // { name: 'review' }
 */
export function readFrontMatter(text: string): FrontMatter {
  const opening = /^\ufeff?---[ \t]*\r?\n/.exec(text)
  if (opening === null) return { fields: {}, lines: new Map(), body: text.replace(/^\ufeff/, '') }
  const start = opening[0].length
  const closing = /^---[ \t]*\r?$/m.exec(text.slice(start))
  if (closing === null) return { fields: {}, lines: new Map(), body: text.replace(/^\ufeff/, '') }
  const head = text.slice(start, start + closing.index)
  const rest = text.slice(start + closing.index + closing[0].length).replace(/^\n/, '')
  return { ...readYaml(head, 2), body: rest }
}
