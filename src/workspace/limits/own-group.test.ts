import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { splitOwnGroup } from './own-group.js'

/** A plain directory that takes the writes of the control group file system, with these processes in it. */
function group(pids: readonly number[], type = 'domain', controllers = 'cpu memory pids'): string {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'cgroup.type'), `${type}\n`)
  writeFileSync(join(directory, 'cgroup.controllers'), `${controllers}\n`)
  writeFileSync(join(directory, 'cgroup.procs'), pids.map((pid) => `${pid}\n`).join(''))
  return directory
}

describe('a delegated group', () => {
  it('is divided: the host moves into a part of it, and the controllers are enabled for the others', () => {
    const directory = group([process.pid])
    expect(splitOwnGroup(directory)).toEqual({
      version: 2,
      directory,
      resources: ['memory', 'processes', 'cpu'],
    })
    expect(readFileSync(join(directory, 'capstan-host/cgroup.procs'), 'utf8')).toBe(String(process.pid))
    expect(readFileSync(join(directory, 'cgroup.subtree_control'), 'utf8')).toBe('+memory +pids')
  })

  it.each([
    ['it holds a process of others', () => group([process.pid, 1])],
    ['it holds a process of another namespace', () => group([0])],
    ['it is the root of the machine, or a part of a threaded group', () => group([process.pid], 'threaded')],
    ['a controller is missing', () => group([process.pid], 'domain', 'cpu memory')],
    ['it does not exist', () => '/nonexistent'],
  ])('is not changed when %s', (_, make) => {
    const directory = make()
    expect(splitOwnGroup(directory)).toBeUndefined()
    expect(existsSync(join(directory, 'capstan-host'))).toBe(false)
  })
})
