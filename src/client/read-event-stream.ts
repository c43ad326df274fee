/** One server-sent event. */
export type StreamedEvent = { readonly id: string | undefined; readonly data: string }

/** Reads the server-sent events of a response. Comments and fields other than `id` and `data` are ignored. */
export async function* readEventStream(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      rest += decoder.decode(value, { stream: true })
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = eventIn(block)
        if (event !== undefined) yield event
      }
    }
  } finally {
    // Ending the loop early closes the connection.
    await reader.cancel().catch(() => undefined)
  }
}

function eventIn(block: string): StreamedEvent | undefined {
  let id: string | undefined
  const data: string[] = []
  for (const line of block.split('\n')) {
    if (line.startsWith('id: ')) id = line.slice(4)
    if (line.startsWith('data: ')) data.push(line.slice(6))
  }
  return data.length === 0 ? undefined : { id, data: data.join('\n') }
}
