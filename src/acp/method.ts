import type { AcpHost } from './acp-host.js'
import type { IncomingCall } from './connection.js'

/** The parameters of a method, which are an object in every method of the protocol. */
export type Params = Readonly<Record<string, unknown>>

/** What a method gets with its parameters: the host with its sessions and the client, and the call itself. */
export type MethodContext = IncomingCall & { readonly host: AcpHost }

/** Answers one method. Notifications are methods without a result. */
export type AcpMethod = (params: Params, context: MethodContext) => Promise<unknown>

/** Methods by their names. */
export type MethodTable = Readonly<Record<string, AcpMethod>>
