import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { schemaSteps } from '../../src/store/postgres/schema.js'

it('adds steps to the schema of a Postgres database and changes none, because databases already have them', () => {
  const file = join(import.meta.dirname, 'postgres-schema.json')
  const known: readonly Step[] = JSON.parse(readFileSync(file, 'utf8'))
  const steps = schemaSteps.map(
    ({ oldestCode, sql }, at): Step => ({
      version: at + 1,
      oldestCode,
      sha256: createHash('sha256').update(sql).digest('hex'),
    }),
  )
  // A release adds its new steps to the file.
  expect(known.length).toBeGreaterThan(0)
  expect(steps.slice(0, known.length)).toEqual(known)
})

type Step = { readonly version: number; readonly oldestCode: number; readonly sha256: string }
