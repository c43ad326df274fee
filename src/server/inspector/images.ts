import { createHash } from 'node:crypto'
import { isShown } from '../../session/journal/recorded-conversation.js'
import type { Session } from '../../session/session.js'
import { kernelOf } from '../../session/session-class.js'
import { objectSchema } from '../../tool/object-schema.js'
import { imageType } from '../../toolbox/image-type.js'
import { ProblemError } from '../problem.js'
import { answer, json, listOf, type Route, sessionRoute, text } from '../route.js'

/** The images of a session that users attached and tools returned. Nothing is fetched for them. */
export const imageRoutes: readonly Route[] = [
  sessionRoute('GET', '/images', 'listImages', {
    summary: 'The images that users attached and tools returned.',
    tag: 'history',
    responses: answer(
      'The images. `callId` names the call that returned one, `runId` the run of its message.',
      objectSchema({
        images: listOf(
          objectSchema({
            imageId: text(),
            mediaType: text(),
            bytes: { type: 'integer' },
            'runId?': text(),
            'callId?': text(),
          }),
        ),
      }),
    ),
    handle: async ({ session }) =>
      json(200, { images: (await imagesOf(session)).map(({ content: _, ...image }) => image) }),
  }),
  sessionRoute('GET', '/images/{imageId}', 'getImage', {
    summary: 'One image. Its type is that of its first bytes: PNG, JPEG, GIF or WebP.',
    tag: 'history',
    responses: {
      200: {
        description: 'The image.',
        type: 'image/png',
        schema: text({ contentMediaType: 'image/png' }),
      },
    },
    problems: ['image_not_found'],
    async handle({ session, params }) {
      const image = (await imagesOf(session)).find(({ imageId }) => imageId === params['imageId'])
      if (image === undefined) throw new ProblemError('image_not_found')
      return new Response(new Uint8Array(image.content), {
        headers: {
          'content-type': image.mediaType,
          'content-security-policy': "default-src 'none'; sandbox",
          'cache-control': 'private, no-store',
        },
      })
    },
  }),
]

type StoredImage = {
  readonly imageId: string
  readonly mediaType: string
  readonly bytes: number
  readonly runId?: string | undefined
  readonly callId?: string | undefined
  readonly content: Buffer
}

/** Returns the images. Those that are URLs, or have another type, are omitted. */
async function imagesOf(session: Session): Promise<StoredImage[]> {
  const order = await kernelOf(session).log.conversation.readAll()
  return order.filter(isShown).flatMap(({ row: { runId }, message }) => {
    if (message.role === 'user')
      return message.content.flatMap((part) =>
        part.type === 'image' ? storedImage(part.data, { runId }) : [],
      )
    if (message.role !== 'tool') return []
    return message.content.flatMap(({ id, content }) =>
      content.flatMap((part) => (part.type === 'image' ? storedImage(part.data, { runId, callId: id }) : [])),
    )
  })
}

function storedImage(data: string, place: Pick<StoredImage, 'runId' | 'callId'>): StoredImage[] {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return []
  const content = Buffer.from(data, 'base64')
  const mediaType = imageType(content)
  if (mediaType === undefined) return []
  const imageId = createHash('sha256').update(content).digest('hex').slice(0, 32)
  return [{ imageId, mediaType, bytes: content.length, ...place, content }]
}
