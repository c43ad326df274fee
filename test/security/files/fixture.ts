import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { CapstanError } from '../../../src/tool/errors.js'
import {
  createLocalFiles,
  type LocalFiles,
  type LocalFilesOptions,
} from '../../../src/workspace/files/index.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'

/** A workspace, its sibling with the tempting name, and a canary outside (security-cases.md 1.2). */
export type Scene = {
  readonly base: string
  readonly workspace: string
  readonly outside: string
  readonly canary: string
  files(options?: Partial<LocalFilesOptions>): LocalFiles
}

const canaryText = 'canary: these bytes never leave their file'

export function createScene(parent?: string): Scene {
  // One level deeper than needed: a path that climbs too far still ends in a directory of ours.
  const base = join(temporaryDirectory(parent), 'base')
  const [workspace, outside] = [join(base, 'W'), join(base, 'outside')]
  for (const path of [workspace, outside, join(base, 'W-evil')]) mkdirSync(path, { recursive: true })
  const canary = join(outside, 'C')
  writeFileSync(canary, canaryText)
  writeFileSync(join(base, 'C'), canaryText)
  writeFileSync(join(base, 'W-evil', 'x'), canaryText)
  const scene: Scene = {
    base,
    workspace,
    outside,
    canary,
    files: (options = {}) => createLocalFiles({ root: workspace, durable: false, ...options }),
  }
  // After every case: nothing outside was changed, added or taken away.
  onTestFinished(() => expectUntouched(scene))
  return scene
}

function expectUntouched(scene: Scene): void {
  for (const path of [scene.canary, join(scene.base, 'C'), join(scene.base, 'W-evil', 'x')]) {
    expect(readFileSync(path, 'utf8')).toBe(canaryText)
  }
  expect(readdirSync(dirname(scene.base))).toEqual(['base'])
  expect(readdirSync(scene.outside)).toEqual(['C'])
  expect(readdirSync(scene.base).sort()).toEqual(['C', 'W', 'W-evil', 'outside'])
  expect(readdirSync(join(scene.base, 'W-evil'))).toEqual(['x'])
}

/**
 * The code of the error that it ends with; `done` when it ends well. An error that is not ours, or that shows secrets,
 * fails.
 */
export async function codeOf(scene: Scene, work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'done'
  } catch (thrown) {
    if (!(thrown instanceof CapstanError)) throw thrown
    expect(thrown.message).not.toContain('canary')
    expect(thrown.message).not.toContain(scene.outside)
    expect(thrown.message).not.toContain('/proc/self/fd')
    return thrown.code
  }
}
