import { useSignal } from '@preact/signals'
import { createContext, type JSX } from 'preact'
import { useContext, useEffect } from 'preact/hooks'
import type { Operations } from '../../src/client/operations.js'
import { client } from './api.js'

type ImageInfo = Operations['listImages']['output']['images'][number]

/** The images of the session that is shown. */
export const SessionImages = createContext<{
  readonly sessionId: string
  readonly images: readonly ImageInfo[]
}>({ sessionId: '', images: [] })

/** Reads the list of images when a session is opened, and when one of its runs begins or ends. */
export function useImages(sessionId: string, state: string): readonly ImageInfo[] {
  const images = useSignal<readonly ImageInfo[]>([])
  useEffect(() => {
    const leaving = new AbortController()
    client.call('listImages', { params: { sessionId } }, leaving.signal).then(
      (found) => {
        images.value = found.images
      },
      // Without images the view still shows everything else; the session view reports failed requests.
      () => undefined,
    )
    return () => leaving.abort()
  }, [sessionId, state])
  return images.value
}

/** The images that a call returned, or that came with the prompt of a run. */
export function Images({
  runId,
  callId,
}: {
  readonly runId: string
  readonly callId?: string | undefined
}): JSX.Element | null {
  const { sessionId, images } = useContext(SessionImages)
  const own = images.filter((one) => one.callId === callId && (callId !== undefined || one.runId === runId))
  if (own.length === 0) return null
  return (
    <div class="images">
      {own.map(({ imageId, mediaType, bytes }) => (
        <StoredImage
          key={imageId}
          sessionId={sessionId}
          imageId={imageId}
          mediaType={mediaType}
          label={`${mediaType}, ${bytes.toLocaleString()} bytes`}
        />
      ))}
    </div>
  )
}

/** One image of the session, created from its data in the log: no URL is requested. */
function StoredImage({
  sessionId,
  imageId,
  mediaType,
  label,
}: {
  readonly sessionId: string
  readonly imageId: string
  readonly mediaType: string
  readonly label: string
}): JSX.Element {
  const address = useSignal<string | undefined>(undefined)
  const failed = useSignal(false)
  useEffect(() => {
    const leaving = new AbortController()
    const read = async (): Promise<void> => {
      const response = await client.send('getImage', { params: { sessionId, imageId } }, leaving.signal)
      const blob = new Blob([await response.arrayBuffer()], { type: mediaType })
      if (!leaving.signal.aborted) address.value = URL.createObjectURL(blob)
    }
    read().catch(() => {
      failed.value = true
    })
    return () => {
      leaving.abort()
      if (address.value !== undefined) URL.revokeObjectURL(address.value)
    }
  }, [sessionId, imageId])
  if (failed.value) return <p class="failure">The image cannot be read ({label}).</p>
  return address.value === undefined ? <p class="quiet">Reading…</p> : <img src={address.value} alt={label} />
}
