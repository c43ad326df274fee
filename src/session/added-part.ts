import { featuresWith } from './features-with.js'

/** The part of the context that a text of a user message belongs to; undefined when the user wrote it. */
export function addedPart(text: string): 'memory' | undefined {
  for (const feature of featuresWith('contextPart')) {
    const name = feature.contextPart(text)
    if (name !== undefined) return name
  }
  return undefined
}
