/** One message of the protocol, as JSON. */
export type Message = { readonly jsonrpc: '2.0'; readonly [member: string]: unknown }

/**
 * A connection to a server, in the shape that the protocol's library expects: the library sets the three handlers,
 * starts the channel, and receives everything through the handlers.
 */
export interface Channel {
  start(): Promise<void>
  send(message: Message): Promise<void>
  close(): Promise<void>
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: never) => void) | undefined
}
