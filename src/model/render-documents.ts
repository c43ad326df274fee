import type { ContextDocument } from '../tool/completion.js'

/** Renders context documents as one block of text for the start of a conversation; undefined when there are none. */
export function renderDocuments(documents: readonly ContextDocument[]): string | undefined {
  if (documents.length === 0) return undefined
  return `<documents>\n${documents.map(render).join('\n')}\n</documents>`
}

function render({ id, text, additionalProps }: ContextDocument): string {
  const properties =
    additionalProps === undefined ? '' : ` properties=${attribute(JSON.stringify(additionalProps))}`
  // A document must not be able to close its own block and add text outside of it.
  return `<document id=${attribute(id)}${properties}>\n${text.replace(/<(?=\/?documents?\b)/gi, '&lt;')}\n</document>`
}

function attribute(text: string): string {
  return `"${text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')}"`
}
