import type { DocumentContent, ImageContent, UserContent } from '../tool/completion.js'
import { type MediaKind, mediaKind } from '../tool/media-type.js'
import type { ModelFacts } from './model.js'

/** The media that a model accepts besides text. */
export type MediaFacts = Pick<ModelFacts, 'images' | 'documents' | 'audio' | 'video'>

/** Whether a model accepts this part of a message. */
export function takesMedia(facts: MediaFacts, part: UserContent): boolean {
  if (part.type === 'text') return true
  switch (kindOf(part)) {
    case 'text':
      return true
    case 'image':
      return facts.images
    case 'audio':
      return facts.audio === true
    case 'video':
      return facts.video === true
    case 'document':
      return facts.documents
  }
}

/** Returns the media kind of an image or document. A document can be an audio or video file. */
export function kindOf(part: ImageContent | DocumentContent): MediaKind {
  return part.type === 'image' ? 'image' : mediaKind(part.mediaType ?? 'application/pdf')
}

/** Whether the data of an image or document is a URL, not base64. */
export function isAddress(data: string): boolean {
  return /^(?:data:|https?:\/\/)/.test(data)
}
