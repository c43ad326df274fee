/**
 * A request of a sandboxed command that reached the proxy: what was requested, whether it was allowed, how it ended.
 */
export type NetworkRequest = {
  /** `CONNECT` for a connection whose content the proxy does not see. */
  readonly method: string
  readonly scheme: 'http' | 'https' | 'tunnel'
  readonly host: string
  readonly port: number
  readonly verdict: 'allowed' | 'refused'
  /** Why it was refused, or why it failed; absent when the server answered. */
  readonly code?: NetworkRequestCode | undefined
  /** What decided: the entry of `allowHosts`, or the option `readOnly` or `gitFetch`. */
  readonly rule?: string | undefined
  /** The status of the server's answer. */
  readonly status?: number | undefined
  /** Bytes to the server and from it: of bodies, or of the whole connection for a tunnel. */
  readonly bytesUp: number
  readonly bytesDown: number
  readonly durationMs: number
  /** The name of the header that the proxy added from `secrets`. */
  readonly secretHeader?: string | undefined
  /** The number of requests that this one sums up, when a command sends very many. Absent: one. */
  readonly count?: number | undefined
}

/** Why a request of a command was refused, or failed (`unreachable`). */
export type NetworkRequestCode =
  | 'invalid_target'
  | 'not_allowed'
  | 'not_granted'
  | 'denied_by_rule'
  | 'address_refused'
  | 'read_only'
  | 'upgrade_refused'
  | 'host_mismatch'
  | 'server_name_mismatch'
  | 'protocol_refused'
  | 'limit_reached'
  | 'secret_unavailable'
  | 'unreachable'

/** The reason why a request is refused. */
export type Refusal = {
  readonly refused: NetworkRequestCode
  readonly host: string
  readonly port: number
  readonly rule?: string | undefined
  /** Further information: the text that was not a host, or why an address was refused. */
  readonly detail?: string | undefined
}

/** Explains to the command and to the model why a request was refused. */
export function explainRefusal({ refused, host, port, detail = '' }: Refusal): string {
  const place = `${host}:${port}`
  switch (refused) {
    case 'invalid_target':
      return `The network refused ${JSON.stringify(detail)}: that is not a host and port.`
    case 'not_allowed':
      return `The network refused ${place}: it is not among the allowed hosts.`
    case 'not_granted':
      return `The network refused ${place}: it was not granted to this command.`
    case 'denied_by_rule':
      return `The network refused ${place}: a rule denies this host.`
    case 'address_refused':
      return `The network refused ${place}: ${detail}`
    case 'read_only':
      return `The network refused ${detail} to ${place}: this host is read-only (network.readOnly): GET and HEAD without a body pass.`
    case 'upgrade_refused':
      return `The network refused a WebSocket to ${place}: the proxy passes on requests and answers only.`
    case 'host_mismatch':
      return `The network refused a request for ${JSON.stringify(detail)} on a connection to ${place}.`
    case 'server_name_mismatch':
      return `The network refused a TLS connection to ${place}: ${detail}`
    case 'protocol_refused':
      return `The network refused a connection to ${place}: it carries neither TLS nor HTTP/1. For another protocol, name the port in allowHosts.`
    case 'limit_reached':
      return `The network ended a connection to ${place}: ${detail}`
    case 'secret_unavailable':
      return `The network refused ${place}: the value of its header ${JSON.stringify(detail)} (network.secrets) could not be read.`
    case 'unreachable':
      return `The network could not reach ${place}: ${detail}`
  }
}
