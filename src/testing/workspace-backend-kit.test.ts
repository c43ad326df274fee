import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../test/support/temporary-directory.js'
import { createMemoryBackend, createMemoryFiles, createOverlayBackend } from '../workspace/index.js'
import { LocalWorkspaceBackend } from '../workspace/local-backend.js'
import { provenSandbox } from '../workspace/sandbox/doctor.js'
import { checkWorkspaceBackend } from './index.js'

/** A kit runs commands that wait for seconds; a machine under load takes its time. */
const timeout = 300_000
/** Commands of memory and overlay run in it. */
const hasSandbox = (await provenSandbox({})).kind !== 'none'

describe('checkWorkspaceBackend', () => {
  it('finds no problem in a directory of this machine', { timeout }, async () => {
    const problems = await checkWorkspaceBackend(() => new LocalWorkspaceBackend(temporaryDirectory()), {
      makeLink: ({ root }, path, target) => symlinkSync(target, join(root, path)),
      commands: true,
    })
    expect(problems).toEqual([])
  })

  it('finds no problem in a workspace in memory', { timeout }, async () => {
    const problems = await checkWorkspaceBackend(() => createMemoryBackend(createMemoryFiles()), {
      commands: hasSandbox,
    })
    expect(problems).toEqual([])
  })

  it('finds no problem in an overlay over a directory', { timeout }, async () => {
    const problems = await checkWorkspaceBackend(() => createOverlayBackend(temporaryDirectory()), {
      makeLink: ({ root }, path, target) => symlinkSync(target, join(root, path)),
      commands: hasSandbox,
    })
    expect(problems).toEqual([])
  })

  it('names what a broken backend does not do', { timeout }, async () => {
    const problems = await checkWorkspaceBackend(() => {
      const backend = createMemoryBackend(createMemoryFiles())
      return {
        ...backend,
        open: async (context) => {
          const opened = await backend.open(context)
          const read = async (): Promise<Uint8Array> => new TextEncoder().encode('always this')
          return { ...opened, fileSystem: { ...opened.fileSystem, read } }
        },
      }
    })
    expect(problems[0]).toContain('a file is read as it was written')
    expect(problems.length).toBeGreaterThan(3)
  })
})
