import { describe, expect, it } from 'vitest'
import { syncDirectory } from './directory-sync.js'
import { type FileLayer, nodeFiles } from './file-layer.js'

/** A layer whose syncs end when the test says so. */
function heldLayer() {
  const syncs: { readonly path: string; readonly end: (error?: Error) => void }[] = []
  const files: FileLayer = {
    ...nodeFiles,
    syncDirectory: (path) =>
      new Promise((resolve, reject) => {
        syncs.push({ path, end: (error) => (error === undefined ? resolve() : reject(error)) })
      }),
  }
  return { files, syncs }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('syncing a directory for many callers', () => {
  it('shares one sync among callers that arrive during another', async () => {
    const { files, syncs } = heldLayer()
    const done: number[] = []
    const callers = Array.from({ length: 100 }, (_, at) =>
      syncDirectory(files, '/a').then(() => void done.push(at)),
    )
    expect(syncs).toHaveLength(1)
    syncs[0]?.end()
    await settled()
    // The others may have made their names after the first sync began.
    expect(done).toEqual([0])
    expect(syncs).toHaveLength(2)
    syncs[1]?.end()
    await Promise.all(callers)
    expect(syncs).toHaveLength(2)
  })

  it('starts a sync at once for another directory, and for a later caller', async () => {
    const { files, syncs } = heldLayer()
    const first = syncDirectory(files, '/a')
    const other = syncDirectory(files, '/b')
    expect(syncs.map(({ path }) => path)).toEqual(['/a', '/b'])
    for (const { end } of syncs) end()
    await Promise.all([first, other])
    await settled()
    void syncDirectory(files, '/a')
    expect(syncs).toHaveLength(3)
  })

  it('fails for the callers of a sync that failed, and for no others', async () => {
    const { files, syncs } = heldLayer()
    const first = syncDirectory(files, '/a')
    const second = syncDirectory(files, '/a')
    syncs[0]?.end(new Error('the disk is gone'))
    await expect(first).rejects.toThrow('the disk is gone')
    await settled()
    syncs[1]?.end()
    await expect(second).resolves.toBeUndefined()
  })
})
