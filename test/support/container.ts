import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createContainerBackend } from '../../examples/container/container-backend.mjs'
import type { WorkspaceBackend } from '../../src/workspace/index.js'
import { root } from '../house/run.js'

/** Whether this machine can start a process with a separate root directory. */
export const hasContainer = existsSync('/usr/bin/bwrap')

/** A backend with a separate root, the programs of this machine, and one directory of this machine at `/workspace`. */
export function makeContainer(directory: string): WorkspaceBackend {
  const programs = ['/usr', '/bin', '/sbin', '/lib', '/lib64'].filter((path) => existsSync(path))
  const mounts = programs.flatMap((path) =>
    lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path],
  )
  return createContainerBackend({
    root: '/workspace',
    start: [
      '/usr/bin/bwrap',
      ...['--unshare-all', '--die-with-parent', '--clearenv', '--setenv', 'PATH', '/usr/bin:/bin'],
      ...['--setenv', 'HOME', '/tmp', ...mounts, '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
      ...['--ro-bind', process.execPath, '/node', '--bind', directory, '/workspace'],
      ...['--ro-bind', join(root, 'examples/container/agent.mjs'), '/agent.mjs', '--', '/node', '/agent.mjs'],
    ],
  })
}
