import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { VerificationCheck, VerificationReport, VerificationStatus } from '../store/verification.js'
import { readReports, restoredReport } from './read-report.js'
import { reportOf } from './report.js'
import { ReportList } from './report-list.js'
import { formatVerificationSummary, summarise } from './summary.js'

const check = (status: VerificationStatus, required = true, id: string = status): VerificationCheck => ({
  id,
  kind: 'test',
  description: id,
  status,
  required,
  evidence_uris: [],
  suggested_tools: [],
})
const report = (
  subject: string,
  checks: readonly VerificationCheck[],
  origin: 'host' | 'model' = 'host',
): VerificationReport => reportOf({ subject, origin, at_ms: 1 }, checks)

describe('the status of a report', () => {
  it.each<[string, VerificationCheck[], VerificationStatus]>([
    ['nothing', [], 'skipped'],
    ['all passed', [check('passed'), check('passed', false)], 'passed'],
    ['a required one failed', [check('passed'), check('failed')], 'failed'],
    ['an optional one failed', [check('passed'), check('failed', false)], 'needs_review'],
    ['a required one was not run', [check('passed'), check('skipped')], 'needs_review'],
    ['an optional one was not run', [check('passed'), check('skipped', false)], 'passed'],
    ['only optional ones, skipped', [check('skipped', false)], 'skipped'],
  ])('with %s', (_, checks, status) => {
    expect(report('s', checks).status).toBe(status)
  })

  it('is never passed when a required check did not pass', () => {
    const statuses = fc.constantFrom<VerificationStatus>('passed', 'failed', 'needs_review', 'skipped')
    const checks = fc.array(
      fc.tuple(statuses, fc.boolean()).map(([status, required]) => check(status, required)),
    )
    fc.assert(
      fc.property(checks, (given) => {
        const { status } = report('s', given)
        const open = given.some((one) => one.required && one.status !== 'passed')
        if (open) expect(status).not.toBe('passed')
        if (status === 'passed') expect(summarise([report('s', given)]).status).toBe('passed')
      }),
    )
  })
})

describe('a summary', () => {
  it.each<[VerificationReport[], string]>([
    [[], 'Verification skipped: no reports.'],
    [[report('a', [check('passed')])], 'Verification passed: 1 report, 1 required check.'],
    [
      [report('a', [check('failed'), check('failed', true, 'x')]), report('b', [check('failed')])],
      'Verification failed: 3 failed checks across subjects: a, b.',
    ],
    [
      [report('a', [check('skipped')])],
      'Verification needs review: 1 pending required check across subjects: a.',
    ],
    [
      [report('a', [check('passed'), check('failed', false)])],
      'Verification needs review: 1 failed optional check across subjects: a. Residual risks: 1.',
    ],
    [[report('a', [])], 'Verification skipped: 1 report, nothing was checked.'],
  ])('describes the state: %#', (reports, text) => {
    const summary = summarise(reports)
    expect(formatVerificationSummary(summary)).toBe(text)
    expect(formatVerificationSummary(JSON.stringify(summary))).toBe(text)
  })

  it('uses the last report about a subject, and counts all of them', () => {
    const summary = summarise([report('a', [check('failed')]), report('a', [check('passed')])])
    expect(summary).toMatchObject({ status: 'passed', report_count: 2, failed_check_count: 0 })
  })

  it('does not let a model override a report of the host, and lets the host override one of a model', () => {
    const failed = report('a', [check('failed')])
    const claimed = report('a', [check('passed')], 'model')
    expect(summarise([failed, claimed]).status).toBe('failed')
    expect(summarise([report('a', [check('failed')], 'model'), report('a', [check('passed')])]).status).toBe(
      'passed',
    )
  })

  it.each([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['no status', {}],
    ['no counts', { status: 'passed' }],
  ])('is rejected with %s', (_, given) => {
    expect(() => formatVerificationSummary(given as never)).toThrow(/^Invalid verification summary: /)
  })
})

describe('reports from elsewhere', () => {
  const facts = { origin: 'host', at_ms: 5, run_id: 'r' } as const

  it('are accepted one or many, and missing values are computed', () => {
    const [read] = readReports({ subject: 'ci', checks: [{ id: 'unit', status: 'passed' }] }, facts)
    expect(read).toMatchObject({
      schema: 'capstan.verification_report.v1',
      subject: 'ci',
      status: 'passed',
      origin: 'host',
      run_id: 'r',
      at_ms: 5,
      checks: [{ id: 'unit', kind: 'command', required: true, evidence_uris: [], suggested_tools: [] }],
    })
    expect(readReports([{ subject: 'a' }, { subject: 'b' }], facts)).toHaveLength(2)
  })

  it('can state a lower status than their checks, never a higher one', () => {
    const checks = [{ id: 'unit', status: 'passed' }]
    expect(readReports({ subject: 'a', status: 'needs_review', checks }, facts)[0]?.status).toBe(
      'needs_review',
    )
    expect(() =>
      readReports({ subject: 'a', status: 'passed', checks: [{ id: 'unit', status: 'failed' }] }, facts),
    ).toThrow(/'passed', and its checks say 'failed'/)
  })

  it.each<[string, unknown, RegExp]>([
    ['no object', 1, /must be an object/],
    ['no subject', {}, /subject/],
    ['a status that is not known', { subject: 'a', status: 'green' }, /must be one of/],
    ['checks that are not list', { subject: 'a', checks: {} }, /checks must be a list/],
    ['a check without id', { subject: 'a', checks: [{ status: 'passed' }] }, /checks\[0\]\.id/],
    ['a check without status', { subject: 'a', checks: [{ id: 'a' }] }, /checks\[0\]\.status/],
    [
      'one check twice',
      {
        subject: 'a',
        checks: [
          { id: 'a', status: 'passed' },
          { id: 'a', status: 'passed' },
        ],
      },
      /two checks/,
    ],
    ['risks that are not texts', { subject: 'a', residual_risks: [1] }, /residual_risks/],
    [
      'too much',
      {
        subject: 'a',
        checks: Array.from({ length: 40 }, (_, at) => ({
          id: `${at}`,
          status: 'passed',
          evidence: { head: 'x'.repeat(10_000) },
        })),
      },
      /is longer than/,
    ],
  ])('are rejected with %s', (_, given, message) => {
    expect(() => readReports(given, facts)).toThrow(message)
  })

  it('are restored from a log unchanged, and not at all when they are invalid', () => {
    const kept = report('a', [check('failed', false)])
    expect(restoredReport(JSON.parse(JSON.stringify(kept)))).toEqual(kept)
    expect(restoredReport({ ...kept, origin: 'stranger' })?.origin).toBe('model')
    expect(restoredReport({ subject: 1 })).toBeUndefined()
    expect(restoredReport(null)).toBeUndefined()
  })
})

describe('the store of reports', () => {
  it('keeps the last report of each subject, however many there are', () => {
    const book = new ReportList()
    book.add(report('first', [check('failed')]))
    for (let at = 0; at < 2_000; at++) book.add(report('again', [check('passed')]))
    expect(book.list().length).toBe(1_000)
    expect(book.summary()).toMatchObject({ status: 'failed', failed_subjects: ['first'] })
  })
})
