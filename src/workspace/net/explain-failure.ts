import { messageOf } from '../../tool/errors.js'
import { NetError, type NetErrorCode } from './errors.js'

/** Converts an error of Node's client to a `NetError`, without its stack and without addresses of this machine. */
export function explainFailure(thrown: unknown, url: string): NetError {
  if (thrown instanceof NetError) return thrown
  const host = URL.canParse(url) ? new URL(url).host : url.slice(0, 200)
  const errno = errnoOf(thrown)
  const [code, words] = known(errno) ?? ['net_bad_response', messageOf(thrown)]
  return new NetError(code, `Fetching from ${host} failed: ${words}.`, { cause: thrown })
}

function known(errno: string): readonly [NetErrorCode, string] | undefined {
  const exact = byErrno.get(errno)
  if (exact !== undefined) return exact
  if (errno.startsWith('ERR_TLS_') || errno.startsWith('CERT_') || errno.startsWith('ERR_SSL_')) {
    return ['net_tls', `the TLS certificate or handshake is not acceptable (${errno})`]
  }
  if (errno.startsWith('Z_') || errno.startsWith('ERR__ERROR_') || errno.startsWith('ERR_BROTLI')) {
    return ['net_bad_response', `its compressed body is damaged (${errno})`]
  }
  if (errno.startsWith('HPE_')) return ['net_bad_response', `its answer is not valid HTTP (${errno})`]
  return undefined
}

const byErrno = new Map<string, readonly [NetErrorCode, string]>([
  ['ECONNREFUSED', ['net_unreachable', 'nothing listens there (connection refused)']],
  ['EHOSTUNREACH', ['net_unreachable', 'the host cannot be reached']],
  ['ENETUNREACH', ['net_unreachable', 'the network cannot be reached']],
  ['EADDRNOTAVAIL', ['net_unreachable', 'the address cannot be reached']],
  ['ETIMEDOUT', ['net_unreachable', 'connecting took too long']],
  ['ECONNRESET', ['net_bad_response', 'the connection was cut before the answer was complete']],
  [
    'ERR_STREAM_PREMATURE_CLOSE',
    ['net_bad_response', 'the connection was cut before the answer was complete'],
  ],
  ['EPIPE', ['net_bad_response', 'the server stopped reading']],
  ['HPE_HEADER_OVERFLOW', ['net_bad_response', 'its headers are too large']],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', ['net_tls', 'its TLS certificate is self-signed']],
  ['SELF_SIGNED_CERT_IN_CHAIN', ['net_tls', 'its TLS certificate chain is self-signed']],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', ['net_tls', 'its TLS certificate cannot be verified']],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', ['net_tls', 'its TLS certificate cannot be verified']],
])

function errnoOf(thrown: unknown): string {
  if (thrown instanceof AggregateError) return errnoOf(thrown.errors[0])
  if (typeof thrown === 'object' && thrown !== null && 'code' in thrown) return String(thrown.code)
  return ''
}
