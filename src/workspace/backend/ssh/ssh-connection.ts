import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defaultPath } from '../../shell/child-env.js'
import { newToken } from '../../shell/run-marker.js'
import { withTimeout } from '../../shell/with-timeout.js'
import type { BackendCommand, BackendProcess, WorkspaceCommands } from '../backend.js'
import { WorkspaceBackendError } from '../errors.js'
import { remoteCommand, remoteProgram } from './remote-command.js'
import { openSftp, type SftpClient } from './sftp-client.js'
import type { SshBackendOptions } from './ssh-backend.js'

/** A connection to a host for SFTP and commands. */
export type SshConnection = {
  readonly sftp: SftpClient
  readonly commands: WorkspaceCommands
  close(): Promise<void>
}

/** Connects with the system's ssh. Rejects with the error output of ssh when that fails. */
export async function openConnection(options: SshBackendOptions): Promise<SshConnection> {
  const directory = await mkdtemp(join(tmpdir(), 'capstan-ssh-'))
  const common = [...fixedOptions, ...chosenOptions(options), '-o', `ControlPath=${join(directory, 's')}`]
  const process = start([...common, '-o', 'ControlMaster=yes', '-s', '--', options.host, 'sftp'])
  const lost = process.ended.then(({ words }): never => {
    throw unreachable(options.host, words)
  })
  // Requests after the end are rejected with the same error.
  lost.catch(() => undefined)
  const close = async (): Promise<void> => {
    await endProcess(process)
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const sftp = await openSftp(process.child.stdin, process.child.stdout, lost)
    const commands: WorkspaceCommands = {
      sandbox: 'none',
      start: async (command) =>
        startCommand(
          [...common, '-o', 'ControlMaster=no', '--', options.host, remoteCommand],
          options.host,
          command,
        ),
    }
    return { sftp, commands, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Options on the command line take precedence over every configuration file. */
const fixedOptions: readonly string[] = [
  '-T',
  '-a',
  '-x',
  ...[
    'BatchMode=yes',
    'StrictHostKeyChecking=yes',
    // Neither a loopback address nor a DNS record replaces a known host key.
    'NoHostAuthenticationForLocalhost=no',
    'VerifyHostKeyDNS=no',
    'UpdateHostKeys=no',
    'ForwardAgent=no',
    'ForwardX11=no',
    'ClearAllForwardings=yes',
    'PermitLocalCommand=no',
    'EscapeChar=none',
    'ControlPersist=no',
    'LogLevel=ERROR',
    'ConnectTimeout=30',
    'ServerAliveInterval=15',
    'ServerAliveCountMax=4',
  ].flatMap((option) => ['-o', option]),
]

function chosenOptions({ port, identityFile, knownHostsFile, configFile }: SshBackendOptions): string[] {
  return [
    ...(configFile === undefined ? [] : ['-F', configFile]),
    ...(port === undefined ? [] : ['-p', String(port)]),
    ...(identityFile === undefined ? [] : ['-i', identityFile, '-o', 'IdentitiesOnly=yes']),
    ...(knownHostsFile === undefined
      ? []
      : ['-o', `UserKnownHostsFile=${knownHostsFile}`, '-o', 'GlobalKnownHostsFile=none']),
  ]
}

type Started = {
  readonly child: ChildProcessWithoutNullStreams
  /** The exit code of ssh, and its own error output. */
  readonly ended: Promise<{ readonly code: number | null; readonly words: string }>
}

function start(args: readonly string[]): Started {
  const child = spawn('ssh', args, { env: clientEnvironment(), stdio: ['pipe', 'pipe', 'pipe'] })
  let words = ''
  child.stderr.on('data', (chunk: Buffer) => {
    if (words.length < 4096) words += chunk.toString()
  })
  const ended = new Promise<{ code: number | null; words: string }>((resolve) => {
    child.once('error', (error) => resolve({ code: null, words: error.message }))
    child.once('close', (code) => resolve({ code, words }))
  })
  // A closed stream is noticed by the end of the process.
  child.stdin.on('error', () => undefined)
  return { child, ended }
}

/** The variables that ssh needs to find the user's keys, and no others that it could pass on. */
function clientEnvironment(): Record<string, string> {
  const names = ['HOME', 'USER', 'LOGNAME', 'SSH_AUTH_SOCK']
  const kept = names.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { PATH: process.env['PATH'] ?? defaultPath, ...Object.fromEntries(kept) }
}

/**
 * Starts a command on the host. The command and its variables are sent over the connection, so that no process list on
 * this machine shows them. The remote script ends the command when its input ends: after `end()`, and when this process
 * or the connection has ended.
 */
function startCommand(args: readonly string[], host: string, command: BackendCommand): BackendProcess {
  const started = start(args)
  const { child, ended } = started
  child.stdin.write(`${remoteProgram(command)}\n${newToken()}\n`)
  return {
    output: child.stdout,
    exit: ended.then(({ code, words }) => {
      if (code === null || (code === 255 && words !== '')) throw unreachable(host, words)
      return { exitCode: code }
    }),
    end: () => endProcess(started),
  }
}

/** Longer than the remote script needs to end processes that do not react to a signal. */
const endMs = 10_000

async function endProcess({ child, ended }: Started): Promise<void> {
  child.stdin.end()
  if ((await withTimeout(ended, endMs)) !== undefined) return
  child.kill('SIGKILL')
  await ended
}

function unreachable(host: string, words: string): WorkspaceBackendError {
  const said = words.trim().replace(/\s+/g, ' ').slice(0, 500)
  return new WorkspaceBackendError(
    'backend_unreachable',
    `The connection to ${host} ended${said === '' ? '' : `: ${said}`}. Check that \`ssh ${host}\` works without questions and that the key of the host is known, then open the session again.`,
  )
}
