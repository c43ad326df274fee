import type { Call } from '../authority/call.js'
import { type Authority, decide } from '../authority/decide.js'
import { grantsHost, grantsPath } from '../authority/grant.js'

/** What one call may touch, asked at the moment of use with the path or host that is really meant. */
export interface CallPermit {
  /** Words when it may not. The path is absolute, with every link resolved. */
  path(kind: 'read' | 'write', realPath: string): string | undefined
  host(host: string, port: number): string | undefined
}

/**
 * Holds a running tool to its grant and to the rules that deny. The gate has judged what the tool said it would touch; this judges
 * what it does touch, so that a link, a search result or a redirect cannot lead around a rule. What only needs asking was asked
 * at the gate. `privileged` calls, the host's own, are held to the grant alone.
 */
export function permitFor(call: Call, authority: Authority, privileged: boolean): CallPermit {
  const { grant } = authority
  return {
    path(kind, realPath) {
      if (grant !== undefined && !grantsPath(grant, kind, realPath))
        return `the tool "${call.tool}" is not granted to ${kind} it`
      return denied({ fs: kind, path: realPath })
    },
    host(host, port) {
      const named = port === 80 || port === 443 ? host : `${host}:${port}`
      if (grant !== undefined && !grantsHost(grant, named))
        return `the tool "${call.tool}" is not granted to reach "${named}"`
      return denied({ net: named })
    },
  }

  function denied(subject: Call['subjects'][number]): string | undefined {
    if (privileged) return undefined
    const { verdict } = decide({ ...call, subjects: [subject] }, authority)
    return verdict.action === 'deny' ? verdict.reason : undefined
  }
}
