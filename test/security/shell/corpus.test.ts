import { describe, expect, it } from 'vitest'
import { analyzeCommand } from '../../../src/authority/shell/analyze-command.js'
import { ASKS, CLEAR, HOSTS, PATHS, SEEN } from './corpus.js'
import { describePaths, reasons, unitNames } from './seen.js'

describe('a corpus of commands', () => {
  it('has at least 300 of them', () => {
    expect(CLEAR.length + SEEN.length + ASKS.length + PATHS.length + HOSTS.length).toBeGreaterThanOrEqual(300)
  })

  it.each(CLEAR)('understands %j', (command) => {
    expect(reasons(analyzeCommand(command))).toEqual([])
  })

  it.each(SEEN)('finds every part of %j', (command, units) => {
    const analysis = analyzeCommand(command)
    expect(reasons(analysis)).toEqual([])
    expect(unitNames(analysis)).toBe(units)
  })

  it.each(ASKS)('asks about %j', (command, units) => {
    const analysis = analyzeCommand(command)
    expect(reasons(analysis)).not.toEqual([])
    expect(unitNames(analysis)).toBe(units)
  })

  it.each(PATHS)('finds the files of %j', (command, paths) => {
    expect(describePaths(analyzeCommand(command))).toBe(paths)
  })

  it.each(HOSTS)('finds the hosts of %j', (command, hosts) => {
    expect(analyzeCommand(command).hosts.join(' ')).toBe(hosts)
  })
})
