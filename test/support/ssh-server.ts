import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'

/** The configuration of a client for a real SSH server on this machine, which is started for each connection. */
export type TestSshServer = {
  readonly host: string
  readonly configFile: string
  readonly knownHostsFile: string
}

const server = '/usr/sbin/sshd'
export const hasSshServer = existsSync(server) && existsSync('/usr/bin/ssh')

/**
 * Makes keys and configuration for `sshd -i`, which serves one connection over its input and output: no port, so no two
 * tests can meet.
 */
export function makeSshServer(directory: string): TestSshServer {
  const path = (name: string): string => join(directory, name)
  for (const name of ['host', 'user', 'other'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', path(name)])
  writeFileSync(path('authorized'), readFileSync(path('user.pub')))
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  writeFileSync(
    path('sshd.conf'),
    [
      `HostKey ${path('host')}`,
      `AuthorizedKeysFile ${path('authorized')}`,
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      'PermitRootLogin yes',
      'AllowAgentForwarding yes',
      'Subsystem sftp internal-sftp',
    ].join('\n'),
  )
  const key = readFileSync(path('host.pub'), 'utf8')
  writeFileSync(path('known'), `capstan-test ${key}`)
  writeFileSync(path('known-other'), `capstan-test ${readFileSync(path('other.pub'), 'utf8')}`)
  writeFileSync(
    path('ssh.conf'),
    [
      'Host capstan-test',
      `  ProxyCommand ${server} -i -f ${path('sshd.conf')}`,
      `  IdentityFile ${path('user')}`,
      '  IdentitiesOnly yes',
      '  ForwardAgent yes',
      `  User ${userInfo().username}`,
    ].join('\n'),
  )
  return { host: 'capstan-test', configFile: path('ssh.conf'), knownHostsFile: path('known') }
}
