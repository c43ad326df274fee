import type { Attachment } from '../session/request.js'
import { mediaKind } from '../tool/media-type.js'
import { imageType } from '../toolbox/image-type.js'
import { visibleLine, visibleText } from '../toolbox/untrusted-text.js'
import { ProblemError } from './problem.js'

/** A file of a client: base64 with the type that the client declares. */
export type Upload = {
  readonly data: string
  readonly mediaType: string
  readonly name?: string | undefined
}

/**
 * Converts the files of a client to attachments. Their number is limited here, their size by the limit of the body.
 * Text is cleaned like that of a web page, so that nothing in it is visible only to the model. An image must match its
 * declared type.
 */
export function readUploads(uploads: readonly Upload[], max: number): readonly Attachment[] {
  if (uploads.length > max)
    throw new ProblemError('invalid_request', `There are more than ${max} attachments.`)
  return uploads.map(({ data, mediaType, name }) => {
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(data))
      throw new ProblemError('invalid_request', 'The data of an attachment must be base64.')
    const type = mediaType.toLowerCase()
    return {
      data: checkedData(data, type),
      mediaType: type,
      encoding: 'base64' as const,
      ...(name !== undefined && { name: visibleLine(name, maxNameLength) }),
    }
  })
}

function checkedData(data: string, type: string): string {
  const bytes = Buffer.from(data, 'base64')
  if (type.startsWith('image/') && imageType(bytes) !== type)
    throw new ProblemError('invalid_request', `The data of an attachment is not of the type ${type}.`)
  if (mediaKind(type) !== 'text') return data
  return Buffer.from(visibleText(decodeUtf8(bytes, type))).toString('base64')
}

function decodeUtf8(bytes: Uint8Array, type: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new ProblemError('invalid_request', `An attachment of the type ${type} must be UTF-8.`)
  }
}

const maxNameLength = 255
