import { basename } from 'node:path'
import type { Attachment, SendRequest } from '../session/request.js'
import { isRecord } from '../tool/json.js'
import type { Params } from './method.js'
import { textIn } from './params.js'
import { invalidParams } from './rpc-error.js'

/**
 * Reads the blocks of a prompt. Text and links become the prompt, in order; embedded texts follow, each in its own
 * tag; images and other files become attachments.
 */
export function readPrompt(blocks: readonly Params[]): Pick<SendRequest, 'prompt' | 'attachments'> {
  const texts: string[] = []
  const embedded: string[] = []
  const attachments: Attachment[] = []
  for (const block of blocks) {
    switch (block['type']) {
      case 'text':
        texts.push(typeof block['text'] === 'string' ? block['text'] : textIn(block, 'text'))
        break
      case 'resource_link':
        texts.push(linkText(block))
        break
      case 'image':
        attachments.push({
          data: base64In(block, 'data'),
          encoding: 'base64',
          mediaType: textIn(block, 'mimeType'),
        })
        break
      case 'resource':
        readResource(block, texts, embedded, attachments)
        break
      default:
        throw invalidParams(
          `Prompts with blocks of the type ${JSON.stringify(block['type'])} are not supported.`,
        )
    }
  }
  const prompt = [texts.join(''), ...embedded].filter((part) => part !== '').join('\n\n')
  if (prompt.trim() === '' && attachments.length === 0) throw invalidParams('The prompt is empty.')
  return attachments.length === 0 ? { prompt } : { prompt, attachments }
}

function readResource(block: Params, texts: string[], embedded: string[], attachments: Attachment[]): void {
  const { resource } = block
  if (!isRecord(resource)) throw invalidParams('A resource must be an object.')
  const uri = textIn(resource, 'uri')
  const { text, mimeType } = resource
  texts.push(pathOf(uri))
  if (typeof text === 'string') {
    embedded.push(`<file path=${JSON.stringify(pathOf(uri))}>\n${text}\n</file>`)
    return
  }
  attachments.push({
    data: base64In(resource, 'blob'),
    encoding: 'base64',
    mediaType: typeof mimeType === 'string' ? mimeType : 'application/octet-stream',
    name: basename(pathOf(uri)),
  })
}

function linkText(block: Params): string {
  return pathOf(textIn(block, 'uri'))
}

/** Returns the path of a file URI, which tools can read; any other address unchanged. */
function pathOf(uri: string): string {
  if (!uri.startsWith('file://')) return uri
  try {
    const { pathname, hash } = new URL(uri)
    return `${decodeURIComponent(pathname)}${hash}`
  } catch {
    // The path has characters that are not valid in a URI.
    return uri.slice('file://'.length)
  }
}

function base64In(block: Params, name: string): string {
  const data = textIn(block, name)
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(data)) throw invalidParams(`${name} must be base64.`)
  return data
}
