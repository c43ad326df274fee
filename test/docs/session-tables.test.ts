import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { factsOf, hookEventNames } from '../../src/hooks/events.js'
import { defaultCompaction } from '../../src/loop/compaction/settings.js'
import { createConversation } from '../../src/loop/conversation.js'
import { runErrorCodes } from '../../src/loop/errors.js'
import type { RunLimits, RunParts } from '../../src/loop/run-parts.js'
import { beginRun, startClock } from '../../src/loop/run-state.js'
import { modelErrorCodes } from '../../src/model/errors.js'
import { offlineModel } from '../../src/model/offline/offline-model.js'
import { checkOptions } from '../../src/session/check-options.js'
import { features } from '../../src/session/features.js'
import { nameIn, rowsBetween } from './page-table.js'

const page = readFileSync(new URL('../../docs/sessions.md', import.meta.url), 'utf8')
const options = rowsBetween(page, 'options')
const limits = rowsBetween(page, 'limits')

describe('the tables of options in docs/sessions.md', () => {
  it('name every accepted option once, and no other', () => {
    const documented = [...options, ...limits].map(([name]) => nameIn(name))
    expect(documented.toSorted()).toEqual(namesTaken().toSorted())
  })

  it('name no option that a session ignores', () => {
    for (const [name] of [...options, ...limits]) expect(isTaken(nameIn(name)), name).toBe(true)
    expect(isTaken('colour')).toBe(false)
  })

  it('have the actual defaults', () => {
    const documented = Object.fromEntries(limits.map(([name, value = '']) => [nameIn(name), value]))
    const defaultLimits = limitsOfNothing()
    for (const [name, value] of Object.entries(defaultLimits))
      expect(documented[name], name).toBe(String(value))
    const others = Object.keys(documented).filter((name) => !Object.hasOwn(defaultLimits, name))
    expect(others.map((name) => documented[name])).toEqual(others.map(() => 'none'))
    const row = (wanted: string) => options.find(([name]) => nameIn(name) === wanted)?.[1]
    expect(row('autoCompact')).toBe(`\`${defaultCompaction.auto}\``)
    expect(row('autoCompactThreshold')).toBe(`\`${defaultCompaction.threshold}\``)
  })

  it('have existing codes', () => {
    const known: readonly string[] = [...runErrorCodes, ...modelErrorCodes]
    for (const [, , , code = ''] of limits)
      if (code.startsWith('`')) expect(known, code).toContain(nameIn(code))
  })
})

describe('the table of hooks in docs/sessions.md', () => {
  it('has every event with its effect and what can be changed there', () => {
    const documented = rowsBetween(page, 'hooks').map(([event, power, , changes = '']) => [
      nameIn(event),
      power,
      [...changes.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    ])
    expect(documented).toEqual(
      hookEventNames.map((event) => [event, factsOf(event).power, Object.keys(factsOf(event).changes ?? {})]),
    )
  })
})

/** The limits of a run without configured limits. */
function limitsOfNothing(): RunLimits {
  const parts: RunParts = {
    model: () => offlineModel(),
    conversation: createConversation(),
    instructions: () => undefined,
    emit: () => undefined,
    signal: new AbortController().signal,
    now: () => 0,
  }
  const clock = startClock(parts)
  clock.stop()
  return beginRun(parts, clock, undefined).limits
}

/** As the source lists them: there is no other place that knows all names. */
function namesTaken(): string[] {
  const source = readFileSync(new URL('../../src/session/check-options.ts', import.meta.url), 'utf8')
  const [, table = ''] = /\nconst kernelChecks: [^\n]* = \{\n([\s\S]*?)\n\}\n/.exec(source) ?? []
  const kernel = [...table.matchAll(/^ {2}(\w+)[:,]/gm)].map(([, name = '']) => name)
  const alike = [...table.matchAll(/^ {2}\.\.\.all\(.*, '([\w ]+)'\),$/gm)].flatMap(([, names = '']) =>
    names.split(' '),
  )
  return [...kernel, ...alike, ...features.flatMap(({ options: checks = {} }) => Object.keys(checks))]
}

/** No option takes a symbol. */
function isTaken(name: string): boolean {
  try {
    return checkOptions({ [name]: Symbol(name) }).warnings.length === 0
  } catch {
    return true
  }
}
