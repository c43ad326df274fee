/** What a model must be able to read to take content of a media type. Every model reads text. */
export type MediaKind = 'text' | 'image' | 'audio' | 'video' | 'document'

/** The kind of a media type such as `audio/mpeg`. What is neither text, image, audio nor video is a document. */
export function mediaKind(mediaType: string): MediaKind {
  const type = mediaType.toLowerCase().split(';', 1)[0]?.trim() ?? ''
  const [group] = type.split('/', 1)
  if (group === 'image' || group === 'audio' || group === 'video' || group === 'text') return group
  return textTypes.test(type) ? 'text' : 'document'
}

const textTypes = /[/+](?:json|xml|yaml|javascript|ecmascript|sql|toml|csv)$/
