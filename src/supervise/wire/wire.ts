/** A connection that transmits whole messages. */
export interface Wire {
  /** Throws when the buffer is full. */
  send(text: string): void
  /** Closes the connection and ends everything that was started for it. */
  close(): Promise<void>
}

export type WireEvents = {
  message(text: string): void
  /** Called once, for a close from either side. */
  closed(why: string): void
}

/** `signal`: aborted when the connection is no longer needed. */
export type OpenWire = (events: WireEvents, signal: AbortSignal) => Promise<Wire>

/** How many messages of the maximum size can wait for a supervisor that does not read. */
export const maxUnread = 8
