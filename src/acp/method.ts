import type { AcpHost } from './acp-host.js'
import type { IncomingCall } from './connection.js'

/** The parameters of a method: an object in every method of the protocol. */
export type Params = Readonly<Record<string, unknown>>

/** The context of a method: the host with its sessions and the client, and the incoming call. */
export type MethodContext = IncomingCall & { readonly host: AcpHost }

/** Answers one method. Notifications are methods without a result. */
export type AcpMethod = (params: Params, context: MethodContext) => Promise<unknown>

/** Methods by name. */
export type MethodTable = Readonly<Record<string, AcpMethod>>
