/**
 * Files that earlier versions stored are opened by this one. The writer of this version is compared with the newest
 * golden files: a format that changes needs new ones (docs/design/formats.md).
 */
import { cp, mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { type Format, formats, goldenDirectory, shapeIn, versionsOf } from './formats.js'
import { readers } from './readers.js'
import type { Places } from './writers.js'

let base: string
beforeEach(async () => {
  base = temporaryDirectory()
})

describe.each(formats)('the stored format $name', (format) => {
  it('has golden files of every version, and this version writes the same as the newest', {
    timeout: 120_000,
  }, async () => {
    const places = await placesIn(base)
    await format.write(places)
    const version = await format.versionOf(places.target)
    const newest = versionsOf(format).at(-1)
    const shape = await shapeIn(format, places.target)
    const isNew =
      newest === undefined ||
      !isOf(version, newest) ||
      shape.join('\n') !== (await shapeIn(format, await copyOf(format, newest))).join('\n')
    if (isNew && process.env['UPDATE_GOLDEN'] !== undefined) await writeGolden(format, version)
    const current = versionsOf(format).at(-1)
    if (current === undefined) throw new Error(`${format.name} has no golden files. ${howToAdd}`)
    const directory = await copyOf(format, current)
    expect(
      shape,
      `${format.name} is not written as in ${goldenDirectory(format, current)}. ${howToAdd}`,
    ).toEqual(await shapeIn(format, directory))
    expect(
      isOf(version, current),
      `the version is ${version}, and the newest golden files are ${current}`,
    ).toBe(true)
    expect(await format.versionOf(directory)).toBe(version)
    const majors = versionsOf(format).map((each) => Number.parseInt(each.slice(1), 10))
    expect(new Set(majors)).toEqual(new Set(Array.from({ length: version }, (_, at) => at + 1)))
  })

  for (const version of versionsOf(format))
    it(`reads what ${version} wrote`, { timeout: 120_000 }, async () => {
      const places = await placesIn(base)
      await cp(goldenDirectory(format, version), places.target, { recursive: true })
      await readers[format.name]?.(places)
      expect(readers).toHaveProperty(format.name)
    })
})

/** A copy to open: reading a database writes files next to it, and opening a session may write to its store. */
async function copyOf(format: Format, version: string): Promise<string> {
  const copy = temporaryDirectory()
  await cp(goldenDirectory(format, version), copy, { recursive: true })
  return copy
}

function isOf(version: number, directory: string): boolean {
  return directory === `v${version}` || directory.startsWith(`v${version}.`)
}

const howToAdd =
  'When the change is meant: docs/design/formats.md says how to change a format, and UPDATE_GOLDEN=1 npm test -- test/golden writes the new files.'

async function placesIn(directory: string): Promise<Places> {
  const places = {
    target: join(directory, 'stored'),
    workspace: join(directory, 'workspace'),
    user: join(directory, 'user'),
  }
  for (const path of Object.values(places)) await mkdir(path, { recursive: true })
  return places
}

/**
 * Writes the next directory; one that is there is never changed. The paths in it do not depend on the machine that
 * writes it.
 */
async function writeGolden(format: Format, version: number): Promise<void> {
  const taken = versionsOf(format).filter((each) => isOf(version, each))
  const target = goldenDirectory(format, taken.length === 0 ? `v${version}` : `v${version}.${taken.length}`)
  const place = join(tmpdir(), 'capstan-golden')
  await rm(place, { recursive: true, force: true })
  try {
    const places = await placesIn(place)
    await format.write(places)
    await cp(places.target, target, { recursive: true })
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}
