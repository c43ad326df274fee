import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { whenDone } from './open-session.js'

export type GitServer = { readonly url: string; readonly port: number; readonly asked: string[] }

/** Serves a repository over smart HTTP on loopback, as `/project.git`; `/moved.git` redirects to it. */
export async function startGitServer(repository: string): Promise<GitServer> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const { url = '' } = request
    if (url.startsWith('/moved.git/')) {
      response.writeHead(302, { location: url.replace('/moved.git/', '/project.git/') }).end()
      return
    }
    if (url.startsWith('/private.git/')) {
      response.writeHead(401).end()
      return
    }
    if (url === '/project.git/info/refs?service=git-upload-pack') {
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' })
      response.write('001e# service=git-upload-pack\n0000')
      return uploadPack(['--advertise-refs'], request, response)
    }
    if (url === '/project.git/git-upload-pack') {
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' })
      return uploadPack([], request, response)
    }
    response.writeHead(404).end()
  })
  function uploadPack(more: string[], request: IncomingMessage, response: ServerResponse): void {
    const child = spawn('git', ['upload-pack', '--stateless-rpc', ...more, repository])
    request.pipe(child.stdin)
    child.stdout.pipe(response)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenDone(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, asked }
}
