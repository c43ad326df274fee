import { featuresWith } from './features-with.js'

/** Returns the context part that a text of a user message belongs to; undefined when the user wrote the text. */
export function addedPart(text: string): 'memory' | undefined {
  for (const feature of featuresWith('contextPart')) {
    const name = feature.contextPart(text)
    if (name !== undefined) return name
  }
  return undefined
}
