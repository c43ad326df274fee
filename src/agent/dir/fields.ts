import { messageOf } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { nearestNames, quoteNames } from '../../tool/nearest.js'
import { visibleText } from '../../toolbox/untrusted-text.js'
import { readFrontMatter } from '../../workspace/front-matter.js'
import { YamlError } from '../../workspace/yaml/errors.js'
import type { DirFile } from './dir-files.js'
import type { Findings } from './findings.js'

/** Reads the front matter of a file. Undefined, with a reported problem, if it is missing or invalid. */
export function readFields(file: DirFile, findings: Findings): FileFields | undefined {
  const fail = (line: number, message: string): undefined => void findings.add(file.file, line, message)
  if (!/^\ufeff?---[ \t]*\r?\n/.test(file.text))
    return fail(1, 'missing front matter: start the file with a line of ---, fields, and another line of ---')
  if (!/\n---[ \t]*\r?(?:\n|$)/.test(file.text))
    return fail(1, 'missing front matter: the second line of --- after the fields is missing')
  try {
    const { fields, lines, body } = readFrontMatter(file.text)
    return new FileFields(file, fields, lines, visibleText(body).trim(), findings)
  } catch (error) {
    if (error instanceof YamlError) return fail(error.line, error.problem)
    return fail(1, messageOf(error))
  }
}

/** The fields of one file. Invalid values are reported with their line. */
export class FileFields {
  readonly file: DirFile
  readonly all: Readonly<Record<string, unknown>>
  readonly body: string
  readonly #lines: ReadonlyMap<string, number>
  readonly #findings: Findings

  constructor(
    file: DirFile,
    all: Readonly<Record<string, unknown>>,
    lines: ReadonlyMap<string, number>,
    body: string,
    findings: Findings,
  ) {
    this.file = file
    this.all = all
    this.body = body
    this.#lines = lines
    this.#findings = findings
  }

  fail(message: string, name?: string, inner?: string): undefined {
    return this.failAt(this.lineOf(name, inner), message)
  }

  failAt(line: number, message: string): undefined {
    this.#findings.add(this.file.file, line, message)
    return undefined
  }

  /** The line of a field, or of a value inside it. */
  lineOf(name?: string, inner?: string): number {
    const line = (name === undefined ? undefined : this.#lines.get(name)) ?? 1
    if (inner === undefined) return line
    const below = this.file.text.split('\n').slice(line)
    const end = below.findIndex((text) => /^\S/.test(text))
    const at = (end < 0 ? below : below.slice(0, end)).findIndex((text) => text.includes(inner))
    return at < 0 ? line : line + 1 + at
  }

  /** The first of these names that the file has. */
  named(...names: readonly string[]): string | undefined {
    return names.find((name) => this.all[name] !== undefined && this.all[name] !== null)
  }

  text(...names: readonly string[]): string | undefined {
    const name = this.named(...names)
    if (name === undefined) return undefined
    const value = this.all[name]
    if (typeof value === 'string' && value.trim() !== '') return value.trim()
    // A name or a version can look like a number.
    if (typeof value === 'number') return String(value)
    return this.fail(`${name} must be a string that is not empty`, name)
  }

  flag(name: string, usual: boolean): boolean {
    const value = this.all[name] ?? usual
    if (typeof value === 'boolean') return value
    this.fail(`${name} must be true or false`, name)
    return usual
  }

  whole(least: number, most: number, ...names: readonly string[]): number | undefined {
    const name = this.named(...names)
    if (name === undefined) return undefined
    const value = this.all[name]
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
    return this.fail(`${name} must be a whole number from ${least} to ${most}`, name)
  }

  word<Word extends string>(words: readonly Word[], usual: Word, ...names: readonly string[]): Word {
    const name = this.named(...names)
    if (name === undefined) return usual
    const found = words.find((word) => word === this.all[name])
    if (found !== undefined) return found
    this.fail(`${name} must be ${quoteNames(words)}`, name)
    return usual
  }

  texts(...names: readonly string[]): readonly string[] {
    const name = this.named(...names)
    if (name === undefined) return []
    const value = this.all[name]
    if (Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '')) return value
    this.fail(`${name} must be a list of names, such as [read, grep]`, name)
    return []
  }

  object(name: string): Readonly<Record<string, unknown>> | undefined {
    const value = this.all[name]
    if (value === undefined || value === null) return undefined
    return isRecord(value) ? value : this.fail(`${name} must be an object with fields`, name)
  }

  /** Reports unknown fields, because the author expects them to have an effect. */
  refuseOthers(known: readonly string[]): void {
    for (const name of Object.keys(this.all)) {
      if (known.includes(name)) continue
      const near = nearestNames(name, known)
      const hint =
        near.length > 0 ? `did you mean ${quoteNames(near)}?` : `the fields are ${known.join(', ')}`
      this.fail(`unknown field "${name.slice(0, 60)}": ${hint}`, name)
    }
  }
}
