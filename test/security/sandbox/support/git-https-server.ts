import { execFileSync, spawn } from 'node:child_process'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryDirectory } from '../../../support/temporary-directory.js'

export type GitServer = {
  /** The address and port, as a host rule names them. */
  readonly host: string
  readonly url: string
  /** Its certificate, which is its own authority. */
  readonly certificate: string
  /** The method and the path of each request, with the header `authorization`. */
  readonly requests: readonly string[]
  /** What the branch of the served repository points to; empty before the first push. */
  branches(): string
}

/** An empty repository over HTTPS, served by git's own CGI program, which takes pushes. */
export async function startGitServer(address: string): Promise<GitServer> {
  const directory = await temporaryDirectory()
  const repository = join(directory, 'remote.git')
  execFileSync('git', ['init', '--quiet', '--bare', repository])
  execFileSync('git', ['-C', repository, 'config', 'http.receivepack', 'true'])
  const requests: string[] = []
  const server = createServer({ key, cert }, (request, response) => {
    const { authorization = 'none' } = request.headers
    requests.push(`${request.method} ${request.url} ${authorization}`)
    const [path = '', query = ''] = (request.url ?? '').split('?')
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: directory,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    request.pipe(backend.stdin)
    const output: Buffer[] = []
    backend.stdout.on('data', (piece: Buffer) => output.push(piece))
    backend.on('close', () => {
      const whole = Buffer.concat(output)
      const end = whole.indexOf('\r\n\r\n')
      for (const line of whole.subarray(0, end).toString('latin1').split('\r\n')) {
        const [name = '', value = ''] = line.split(': ')
        if (name === 'Status') response.statusCode = Number(value.slice(0, 3))
        else response.setHeader(name, value)
      }
      response.end(whole.subarray(end + 4))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `${address}:${(server.address() as AddressInfo).port}`
  return {
    host,
    url: `https://${host}/remote.git`,
    certificate: cert,
    requests,
    branches: () => execFileSync('git', ['-C', repository, 'for-each-ref'], { encoding: 'utf8' }),
  }
}

/** A key for tests, which protects nothing, and its certificate. */
export const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgbddsn5tuMIKM+bT1
4MGjiOW9B026++HOHtbXNkVSeuOhRANCAASq7eKbPSpKkNo9fM5dgfttyS6C/+x2
/siHyOTsGYlq+XwQSdYrh6lXuhE2Af/J3rWjDqk9g0W9ub22wEUhYL0V
-----END PRIVATE KEY-----
`
export const cert = `-----BEGIN CERTIFICATE-----
MIIBkTCCATagAwIBAgIUf6zthH2LcrhXak6sE+66778jTn4wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4yMCAXDTI2MTExNjE2MzQ1OVoYDzIxMjYxMDIz
MTYzNDU5WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjIwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASq7eKbPSpKkNo9fM5dgfttyS6C/+x2/siHyOTsGYlq+XwQSdYrh6lX
uhE2Af/J3rWjDqk9g0W9ub22wEUhYL0Vo2QwYjAdBgNVHQ4EFgQUqKGlgWUJqHcM
ZJ813Wl5zWJdX3IwHwYDVR0jBBgwFoAUqKGlgWUJqHcMZJ813Wl5zWJdX3IwDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAACMAoGCCqGSM49BAMCA0kAMEYC
IQCGVUqYGbtQPEEMdau8h7YZi3YGFYlgWjeF6FfQRXOnLgIhANNt1vFtGBaKLGVy
3PO8lIL2DVvVIOs13GYJpPYGuV5V
-----END CERTIFICATE-----
`
