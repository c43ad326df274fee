/** A connection that carries whole messages. */
export interface Wire {
  /** Throws when it cannot take any more. */
  send(text: string): void
  /** Ends it, with everything that was started for it. */
  close(): Promise<void>
}

export type WireEvents = {
  message(text: string): void
  /** Called once, whichever side ended it. */
  closed(why: string): void
}

/** `signal`: it is not wanted any longer. */
export type OpenWire = (events: WireEvents, signal: AbortSignal) => Promise<Wire>

/** How much may wait for a supervisor that does not read, in messages of the longest kind. */
export const maxUnread = 8
