import type { CompletionRequest, Message, UserContent } from '../tool/completion.js'
import { markErrorClass } from '../tool/errors.js'
import type { MediaKind } from '../tool/media-type.js'
import type { CompletionModel, CompletionModelCapabilities } from './completion-model.js'
import { ModelError } from './errors.js'
import type { Model } from './model.js'
import { kindOf, takesMedia } from './takes-media.js'

/** Thrown when a request needs a capability that the model does not declare. Nothing is sent. */
export class CompletionCapabilityError extends ModelError {
  constructor(message: string) {
    super('model_request_refused', message)
  }
}

markErrorClass(CompletionCapabilityError, 'CompletionCapabilityError')

/** Throws a {@link CompletionCapabilityError} when the request needs a capability that the model does not declare. */
export function assertCompletionRequestSupported(
  model: Pick<CompletionModel, 'provider' | 'defaultModel'> & {
    readonly capabilities?: CompletionModelCapabilities
  },
  request: CompletionRequest,
  options: { readonly streaming?: boolean } = {},
): void {
  const { capabilities } = model
  // A model without a declaration is assumed to support everything.
  if (capabilities === undefined) return
  const needs: readonly [keyof CompletionModelCapabilities, boolean, string][] = [
    ['streaming', options.streaming === true, 'streaming'],
    ['tools', request.tools.length > 0, 'tools'],
    ['toolChoice', request.toolChoice !== undefined, 'a tool choice'],
    ['outputSchema', request.outputSchema !== undefined, 'an output schema'],
    ['imageInput', request.chatHistory.some((message) => holds(message, 'image')), 'images'],
    ['documentInput', request.chatHistory.some((message) => holds(message, 'document')), 'documents'],
  ]
  const missing = needs.filter(([name, needed]) => needed && !capabilities[name]).map(([, , words]) => words)
  if (missing.length === 0) return
  throw new CompletionCapabilityError(
    `Model "${model.provider}/${request.model ?? model.defaultModel}" does not support ${missing.join(', ')}: leave that out of the request, or use another model.`,
  )
}

/**
 * Throws a {@link CompletionCapabilityError} when the request has images or documents that the model does not support
 * according to its facts.
 */
export function assertMediaSupported({ provider, id, facts }: Model, request: CompletionRequest): void {
  const capabilities = { ...everything, imageInput: facts.images, documentInput: facts.documents }
  assertCompletionRequestSupported({ provider, defaultModel: id, capabilities }, request)
}

/**
 * Throws a {@link CompletionCapabilityError} when a message has an attachment that the model does not accept. In the
 * history of a conversation such attachments are replaced by a note, but an attachment that a user sends now would be
 * lost without notice.
 */
export function assertAttachmentsSupported(model: Model, content: readonly UserContent[]): void {
  const refused = content.find((part) => !takesMedia(model.facts, part))
  if (refused === undefined || refused.type === 'text') return
  const kind = kindOf(refused)
  const shown = refused.type === 'document' && refused.name !== undefined ? `${refused.name}, ` : ''
  const word = kind === 'document' ? 'pdf' : kind
  throw new CompletionCapabilityError(
    `Model "${model.provider}/${model.id}" does not accept ${kindWords[kind]} (${shown}${refused.mediaType ?? kind}), so nothing was sent. Use another model ("capstan models --input ${word}" lists some), or state modalities = { input = ["text", "${word}"] } for this one if it does.`,
  )
}

const kindWords: Readonly<Record<MediaKind, string>> = {
  text: 'text',
  image: 'images',
  audio: 'audio',
  video: 'video',
  document: 'documents',
}

const everything: CompletionModelCapabilities = {
  streaming: true,
  tools: true,
  toolChoice: true,
  imageInput: true,
  documentInput: true,
  outputSchema: true,
  reasoning: true,
}

function holds(message: Message, type: 'image' | 'document'): boolean {
  if (message.role !== 'user') return false
  return message.content.some((part) => part.type === type && kindOf(part) !== 'text')
}
