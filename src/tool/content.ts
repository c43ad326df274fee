import { isRecord } from './json.js'

/** A text in a tool result. */
export type ToolResultText = { type: 'text'; text: string }
/** An image in a tool result. `data` is base64 or a URL. */
export type ToolResultImage = { type: 'image'; data: string; mediaType?: string }
/** A part of a multimodal tool result. */
export type ToolResultContent = ToolResultText | ToolResultImage

const defaultImageType = 'image/png'

/** Returns whether a tool's output is multimodal content: a non-empty array of only text and image blocks. */
export function isToolResultContentArray(value: unknown): value is ToolResultContent[] {
  return Array.isArray(value) && value.length > 0 && value.every(isToolResultContent)
}

function isToolResultContent(value: unknown): value is ToolResultContent {
  if (!isRecord(value)) return false
  if (value['type'] === 'text') return typeof value['text'] === 'string'
  if (value['type'] !== 'image' || typeof value['data'] !== 'string') return false
  return value['mediaType'] === undefined || typeof value['mediaType'] === 'string'
}

/** Returns content as text for display: text blocks unchanged, images as placeholders such as `[image:image/png]`. */
export function toolResultContentToText(content: readonly ToolResultContent[]): string {
  return content
    .map((part) => (part.type === 'text' ? part.text : `[image:${part.mediaType ?? defaultImageType}]`))
    .join('\n')
}
