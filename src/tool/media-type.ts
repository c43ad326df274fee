/** The kind of input that a model must support for content of a media type. Every model supports text. */
export type MediaKind = 'text' | 'image' | 'audio' | 'video' | 'document'

/**
 * Returns the kind of a media type such as `audio/mpeg`. Every type but text, image, audio and video is a document.
 */
export function mediaKind(mediaType: string): MediaKind {
  const type = mediaType.toLowerCase().split(';', 1)[0]?.trim() ?? ''
  const [group] = type.split('/', 1)
  if (group === 'image' || group === 'audio' || group === 'video' || group === 'text') return group
  return textTypes.test(type) ? 'text' : 'document'
}

const textTypes = /[/+](?:json|xml|yaml|javascript|ecmascript|sql|toml|csv)$/
