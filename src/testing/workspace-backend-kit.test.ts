import { mkdtempSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { sharedDirectory } from '../../test/support/temporary-directory.js'
import { createMemoryBackend, createMemoryFiles, createOverlayBackend } from '../workspace/index.js'
import { LocalWorkspaceBackend } from '../workspace/local-backend.js'
import { provenSandbox } from '../workspace/sandbox/doctor.js'
import { checkWorkspaceBackend } from './index.js'

/** A kit runs commands that wait for seconds; a machine under load takes its time. */
const timeout = 300_000
/** Commands of memory and overlay run in it. */
const hasSandbox = (await provenSandbox({})).kind !== 'none'

const directory = sharedDirectory()
const emptyDirectory = (): string => mkdtempSync(join(directory, 'root-'))
const makeLink = ({ root }: { root: string }, path: string, target: string): void =>
  symlinkSync(target, join(root, path))

/** At the same time: the checks of a backend wait for most of their time. */
const runAll = () => ({
  local: checkWorkspaceBackend(() => new LocalWorkspaceBackend(emptyDirectory()), {
    makeLink,
    commands: true,
  }),
  memory: checkWorkspaceBackend(() => createMemoryBackend(createMemoryFiles()), { commands: hasSandbox }),
  overlay: checkWorkspaceBackend(() => createOverlayBackend(emptyDirectory()), {
    makeLink,
    commands: hasSandbox,
  }),
  broken: checkWorkspaceBackend(() => {
    const backend = createMemoryBackend(createMemoryFiles())
    return {
      ...backend,
      open: async (context) => {
        const opened = await backend.open(context)
        const read = async (): Promise<Uint8Array> => new TextEncoder().encode('always this')
        return { ...opened, fileSystem: { ...opened.fileSystem, read } }
      },
    }
  }),
})

describe('checkWorkspaceBackend', { timeout }, () => {
  let problems: ReturnType<typeof runAll>
  beforeAll(() => {
    problems = runAll()
  })

  it('finds no problem in a directory of this machine', async () => {
    expect(await problems.local).toEqual([])
  })

  it('finds no problem in a workspace in memory', async () => {
    expect(await problems.memory).toEqual([])
  })

  it('finds no problem in an overlay over a directory', async () => {
    expect(await problems.overlay).toEqual([])
  })

  it('names what a broken backend does not do', async () => {
    const found = await problems.broken
    expect(found[0]).toContain('a file is read as it was written')
    expect(found.length).toBeGreaterThan(3)
  })
})
