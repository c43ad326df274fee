import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkWorkspaceBackend } from '../../src/testing/index.js'
import { createSshBackend } from '../../src/workspace/index.js'
import { processesWith, waitForProcesses, withoutFirstThread } from '../security/sandbox/support/processes.js'
import { hasThreads, programWithoutFirstThread } from '../support/first-thread.js'
import { hasSshServer, makeSshServer } from '../support/ssh-server.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

const timeout = 300_000
if (!hasSshServer) process.emitWarning('No sshd on this machine: the tests of the SSH backend are skipped.')

describe.skipIf(!hasSshServer)('a workspace over SSH', () => {
  it('satisfies the kit', { timeout }, async () => {
    const server = makeSshServer(temporaryDirectory())
    const problems = await checkWorkspaceBackend(
      () => createSshBackend({ ...server, root: temporaryDirectory() }),
      { makeLink: ({ root }, path, target) => symlinkSync(target, join(root, path)), commands: true },
    )
    expect(problems).toEqual([])
  })

  it('refuses a host whose key is not the known one, and one that is not known', { timeout }, async () => {
    const directory = temporaryDirectory()
    const server = makeSshServer(directory)
    for (const knownHostsFile of [join(directory, 'known-other'), '/dev/null']) {
      const backend = createSshBackend({ ...server, root: directory, knownHostsFile })
      const opening = backend.open({ onNotice: () => undefined })
      await expect(opening).rejects.toMatchObject({ code: 'backend_unreachable' })
    }
    for (const host of ['-oProxyCommand=x', 'a b', ''])
      expect(() => createSshBackend({ host, root: '/' })).toThrow(/not a host/)
  })

  it('refuses an unknown key on loopback too, where a configuration of ssh can turn the check off', {
    timeout,
  }, async () => {
    const directory = temporaryDirectory()
    const server = makeSshServer(directory)
    const listener = createServer({ pauseOnConnect: true }, (socket) => {
      const words = ['-i', '-f', join(directory, 'sshd.conf')]
      spawn('/usr/sbin/sshd', words, { stdio: [socket, socket, 'ignore'] })
      socket.on('error', () => undefined)
    })
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const { port } = listener.address() as AddressInfo
    const lines = [
      'Host capstan-test',
      'HostName 127.0.0.1',
      `Port ${port}`,
      `IdentityFile ${join(directory, 'user')}`,
    ]
    writeFileSync(server.configFile, [...lines, 'NoHostAuthenticationForLocalhost yes'].join('\n'))
    const backend = createSshBackend({ ...server, root: directory, knownHostsFile: '/dev/null' })
    await expect(backend.open({ onNotice: () => undefined })).rejects.toMatchObject({
      code: 'backend_unreachable',
    })
    listener.close()
  })

  it('passes variables without showing them in a list of processes, and forwards no agent', {
    timeout,
  }, async () => {
    const directory = temporaryDirectory()
    const backend = createSshBackend({ ...makeSshServer(directory), root: directory })
    const opened = await backend.open({ onNotice: () => undefined })
    const script =
      // Processes of other tests can end while they are read.
      'cat /proc/[0-9]*/cmdline 2> /dev/null | grep -ac "[t]op-secret-value"; echo "agent=$SSH_AUTH_SOCK key=$KEY"'
    const process = await opened.commands?.start({
      argv: ['/bin/bash', '-c', script],
      cwd: opened.root,
      env: { KEY: 'top-secret-value' },
    })
    let output = ''
    for await (const chunk of process?.output ?? []) output += Buffer.from(chunk).toString()
    await opened.close()
    expect(output).toBe('0\nagent= key=top-secret-value\n')
  })

  it.runIf(hasThreads)(
    'ends a process that left the session of its command and whose first thread has ended',
    {
      timeout,
    },
    async () => {
      const directory = temporaryDirectory()
      const backend = createSshBackend({ ...makeSshServer(directory), root: directory })
      const opened = await backend.open({ onNotice: () => undefined })
      const word = randomUUID()
      const program = programWithoutFirstThread('sleep 300')
      const process = await opened.commands?.start({
        argv: ['/bin/bash', '-c', `(setsid ${program} >/dev/null 2>&1 &); sleep 300`],
        cwd: opened.root,
        env: { FIRST_THREAD_WORD: word },
      })
      const isThere = (): boolean => processesWith(word).some((line) => line.endsWith(withoutFirstThread))
      await expect.poll(isThere, { timeout: 60_000 }).toBe(true)
      await process?.end()
      await opened.close()
      expect(await waitForProcesses(word, (count) => count === 0)).toEqual([])
    },
  )
})
