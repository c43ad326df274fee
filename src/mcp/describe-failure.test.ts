import { describe, expect, it } from 'vitest'
import { describeFailure, endsOf, failureOf, withheldFrom } from './describe-failure.js'
import type { StdioReach } from './server-options.js'

const redact = (text: string): string => text.replaceAll('s3cr3t', '[hidden]')
const confined: StdioReach = { by: 'stdio', argv: ['server', '--key', 's3cr3t'], sandbox: 'workspace' }
const free: StdioReach = { ...confined, sandbox: 'off' }

describe('a server that failed', () => {
  it('is described with its command, without secrets, and with what the sandbox withheld', () => {
    const failure = failureOf(confined, redact, { exitCode: 1 })
    expect(failure).toMatchObject({ command: 'server --key [hidden]', exitCode: 1 })
    expect(describeFailure('it ended', failure)).toBe(
      'it ended; its command is: server --key [hidden]; the sandbox withheld the network, the home directory and temporary files, and all writing (allowHosts, writable and readOnly of its entry grant more)',
    )
    expect(describeFailure('it ended', failureOf(free, redact))).toBe(
      'it ended; its command is: server --key [hidden]',
    )
  })

  it('is described with the origin of its address, without path and query', () => {
    const url = new URL('https://user:s3cr3t@a.test/mcp?key=s3cr3t')
    const failure = failureOf({ by: 'http', url, headers: {}, sse: 'fallback' }, redact)
    expect(describeFailure('no answer', failure)).toBe('no answer; its address is: https://a.test')
  })
})

describe('what a sandbox withholds from a server', () => {
  it('is empty without a sandbox, and smaller with each grant', () => {
    expect(withheldFrom(free)).toBeUndefined()
    const granted = { ...confined, allowHosts: ['a.test'], readOnly: ['~/x'], writable: ['out'] }
    expect(withheldFrom(granted)).toBe(
      'hosts other than a.test, the home directory and temporary files except ~/x, and writing to other places than out',
    )
  })
})

describe('the excerpt of a server’s output', () => {
  it('has all lines when they are few', () => {
    expect(endsOf('a\n\nb s3cr3t\n', '', true, redact)).toEqual(['a', 'b [hidden]'])
  })

  it('has the first and the last lines of many', () => {
    const lines = Array.from({ length: 30 }, (_, at) => `${at}`)
    const shown = endsOf(lines.join('\n'), '', true, redact)
    const cut = shown.indexOf('…')
    expect(shown.slice(0, cut)).toEqual(lines.slice(0, cut))
    expect(shown.slice(cut + 1)).toEqual(lines.slice(cut + 1 - shown.length))
    expect(shown.length).toBeLessThan(15)
  })

  it('omits a line of which only the end is known, because it could be the end of a secret', () => {
    expect(endsOf('1\n2', 'cr3t\n8\n9', false, redact)).toEqual(['1', '2', '…', '8', '9'])
  })
})
