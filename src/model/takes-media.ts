import type { DocumentContent, ImageContent, UserContent } from '../tool/completion.js'
import { type MediaKind, mediaKind } from '../tool/media-type.js'
import type { ModelFacts } from './model.js'

/** What a model reads besides text. */
export type MediaFacts = Pick<ModelFacts, 'images' | 'documents' | 'audio' | 'video'>

/** Whether a model reads this part of a message. */
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

/** The kind of an image or document. A document can be a recording. */
export function kindOf(part: ImageContent | DocumentContent): MediaKind {
  return part.type === 'image' ? 'image' : mediaKind(part.mediaType ?? 'application/pdf')
}
