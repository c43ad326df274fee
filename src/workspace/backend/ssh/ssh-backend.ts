import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { systemError, type WorkspaceFileSystem } from '../../files/file-system.js'
import type { OpenBackend, WorkspaceBackend } from '../backend.js'
import { WorkspaceBackendError } from '../errors.js'
import type { SftpClient } from './sftp-client.js'
import { openConnection, type SshConnection } from './ssh-connection.js'

/** Options of {@link createSshBackend}. */
export type SshBackendOptions = {
  /** The host, or its name in the configuration of ssh; `user@host` is accepted too. */
  readonly host: string
  /** The absolute path of the workspace on the host. */
  readonly root: string
  readonly port?: number | undefined
  /** A private key. Without it ssh uses the user's keys and agent; the agent is never forwarded. */
  readonly identityFile?: string | undefined
  /** The file with the known host keys; a host that is not in it is refused. Default: that of the user. */
  readonly knownHostsFile?: string | undefined
  /** A configuration file of ssh in place of the user's. */
  readonly configFile?: string | undefined
}

/**
 * Creates a workspace on another machine, through the system's `ssh`. The host needs an SSH server with SFTP, bash and
 * `setsid`, and nothing of Capstan. Commands run with all permissions of the account there.
 *
 * @example
 * const backend = createSshBackend({ host: 'build@ci.example.com', root: '/srv/project' })
 * const session = agent.session('.', { workspaceBackend: backend })
 */
export function createSshBackend(options: SshBackendOptions): WorkspaceBackend {
  const { host, root, port } = options
  if (!/^[A-Za-z0-9_.:@[\]%][A-Za-z0-9_.:@[\]%-]*$/.test(host))
    throw new WorkspaceBackendError('backend_invalid', `${JSON.stringify(host)} is not a host of ssh.`)
  if (!root.startsWith('/') || root.includes('\0'))
    throw new WorkspaceBackendError(
      'backend_invalid',
      `The root ${JSON.stringify(root)} is not an absolute path.`,
    )
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65_536))
    throw new WorkspaceBackendError('backend_invalid', `${port} is not a port.`)
  let shared: { readonly connection: Promise<SshConnection>; users: number } | undefined

  return {
    kind: 'ssh',
    root,
    async open() {
      shared ??= { connection: openConnection(options), users: 0 }
      const own = shared
      own.users += 1
      const release = async (): Promise<void> => {
        own.users -= 1
        if (own.users > 0) return
        if (shared === own) shared = undefined
        await own.connection.then((connection) => connection.close())
      }
      try {
        return await openRoot(await own.connection, options, release)
      } catch (error) {
        await release().catch(() => undefined)
        throw error
      }
    },
  }
}

async function openRoot(
  connection: SshConnection,
  { host, port, root }: SshBackendOptions,
  release: () => Promise<void>,
): Promise<OpenBackend> {
  const { sftp, commands } = connection
  const real = await sftp.realPath(root).catch(() => undefined)
  const stat = real === undefined ? undefined : await sftp.lstat(real)
  if (real === undefined || stat?.kind !== 'directory')
    throw new WorkspaceBackendError('backend_invalid', `There is no directory ${root} on ${host}.`)
  let isClosed = false
  return {
    root: real,
    fileSystem: fileSystemOver(sftp),
    id: `ssh-${host}-${port ?? ''}`,
    commands,
    home: await sftp.realPath('.'),
    async close() {
      if (isClosed) return
      isClosed = true
      await release()
    },
  }
}

function fileSystemOver(sftp: SftpClient): WorkspaceFileSystem {
  return {
    lstat: (path) => sftp.lstat(path),
    // When a part of the path is missing, the server returns an error: then each name is resolved separately.
    realPath: (path) => sftp.realPath(path).catch(() => undefined),
    readLink: (path) => sftp.readLink(path),
    list: (path, limit) => sftp.list(path, limit),
    read: (path, start, end) => sftp.read(path, start, end),
    async write(path, bytes, mode) {
      const temporary = `${dirname(path)}/.${randomBytes(12).toString('hex')}.capstan-tmp`
      try {
        await sftp.create(temporary, bytes, mode)
        await sftp.replace(temporary, path)
      } catch (error) {
        // Ignored, because the first failure is the one to report.
        await sftp.removeFile(temporary).catch(() => undefined)
        throw error
      }
    },
    async makeDirectory(path) {
      try {
        await sftp.makeDirectory(path)
      } catch (error) {
        if ((await sftp.lstat(path))?.kind !== 'directory') throw error
      }
    },
    async remove(path) {
      const stat = await sftp.lstat(path)
      if (stat === undefined) throw systemError('ENOENT', 'there is nothing')
      await (stat.kind === 'directory' ? sftp.removeDirectory(path) : sftp.removeFile(path))
    },
    move: (from, to) => sftp.move(from, to),
  }
}
