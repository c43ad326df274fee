import { readToolList } from '../authority/tool-list.js'
import { isRecord } from '../tool/json.js'
import { visibleLine, visibleText } from '../toolbox/untrusted-text.js'
import { readFrontMatter } from '../workspace/front-matter.js'
import { SkillError } from './errors.js'
import { type InlineSkill, type Skill, type SkillKind, type SkillSource, skillKinds } from './skill.js'

export type ParsedSkill = { readonly skill: Skill; readonly problems: readonly SkillProblem[] }

/** A field that was ignored, and why. */
export type SkillProblem = { readonly field: string; readonly message: string }

/** The origin of a skill's text, for fields that the text leaves out. */
export type SkillOrigin = {
  readonly source: SkillSource
  /** The name of its folder, or the file name without its extension. */
  readonly stem: string
  readonly path?: string | undefined
  readonly folder?: string | undefined
}

const maxDescriptionLength = 1_024

/**
 * Parses a skill from Markdown with front matter. Unknown fields are ignored. Throws {@link SkillError} or
 * `YamlError` for an invalid skill.
 */
export function parseSkill(text: string, { source, stem, path, folder }: SkillOrigin): ParsedSkill {
  const { fields, body: raw } = readFrontMatter(text)
  const problems: SkillProblem[] = []
  const body = visibleText(raw).trim()
  if (body === '') throw new SkillError('it has no text below its fields')
  const allowed = readToolList(oneOf(fields, 'allowed-tools', 'allowed_tools', 'allowedTools'))
  problems.push(...listProblems('allowed-tools', allowed.problems))
  const description = textOf(fields, 'description', problems) ?? firstLine(body)
  const skill: Skill = {
    name: nameOf(fields['name'], stem, problems),
    description: visibleLine(description, maxDescriptionLength),
    kind: kindOf(fields['kind'], problems),
    tags: tagsOf(fields['tags'], problems),
    allowedTools: allowed.rules,
    source,
    body,
    forModels: fields['disable-model-invocation'] !== true,
    path,
    folder,
    license: shownLine(textOf(fields, 'license', problems)),
    compatibility: shownLine(textOf(fields, 'compatibility', problems)),
    version: shownLine(versionOf(fields['version'])),
    metadata: isRecord(fields['metadata']) ? fields['metadata'] : undefined,
  }
  return { skill, problems }
}

/** Parses a skill that the host provides. */
export function parseInlineSkill({
  name,
  kind,
  description,
  tags,
  allowedTools,
  content,
}: InlineSkill): ParsedSkill {
  const problems: SkillProblem[] = []
  const body = visibleText(content).trim()
  if (body === '') throw new SkillError('its content is empty')
  const allowed = readToolList(allowedTools)
  return {
    skill: {
      name: nameOf(name, '', problems),
      description: visibleLine(description ?? firstLine(body), maxDescriptionLength),
      kind: kindOf(kind, problems),
      tags: tags ?? [],
      allowedTools: allowed.rules,
      source: 'inline',
      body,
      forModels: true,
    },
    problems: [...problems, ...listProblems('allowedTools', allowed.problems)],
  }
}

function listProblems(field: string, problems: readonly string[]): SkillProblem[] {
  return problems.map((problem) => ({ field, message: `${field}: ${problem}` }))
}

/** Allows letters, digits and `. _ : -`, because the name is used in tags, messages and lists. */
function isSkillName(name: unknown): name is string {
  return typeof name === 'string' && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/.test(name)
}

function nameOf(given: unknown, stem: string, problems: SkillProblem[]): string {
  if (isSkillName(given)) return given
  const rule = 'a name is 1 to 64 letters, digits and . _ : -, and begins with a letter or digit'
  if (!isSkillName(stem)) throw new SkillError(rule)
  if (given !== undefined && given !== null)
    problems.push({ field: 'name', message: `${rule}; it is called "${stem}" instead` })
  return stem
}

function kindOf(given: unknown, problems: SkillProblem[]): SkillKind {
  const known = skillKinds.find((kind) => kind === given)
  if (known === undefined && given !== undefined && given !== null)
    problems.push({
      field: 'kind',
      message: `kind must be one of ${skillKinds.join(', ')}; it is used as an instruction`,
    })
  return known ?? 'instruction'
}

function tagsOf(given: unknown, problems: SkillProblem[]): readonly string[] {
  if (given === undefined || given === null) return []
  const tags: unknown[] =
    typeof given === 'string' ? given.split(',') : Array.isArray(given) ? given : [given]
  const words = tags.filter((tag) => typeof tag === 'string' || typeof tag === 'number')
  if (words.length < tags.length) problems.push({ field: 'tags', message: 'tags must be a list of words' })
  return words.map((tag) => visibleLine(String(tag), 40)).filter((tag) => tag !== '')
}

function textOf(
  fields: Readonly<Record<string, unknown>>,
  name: string,
  problems: SkillProblem[],
): string | undefined {
  const given = fields[name]
  if (given === undefined || given === null || given === '') return undefined
  if (typeof given === 'string') return given
  problems.push({ field: name, message: `${name} must be a text` })
  return undefined
}

function versionOf(given: unknown): string | undefined {
  return typeof given === 'string' || typeof given === 'number' ? String(given) : undefined
}

/** Returns the first line that has text. */
function firstLine(body: string): string {
  const line = body.split('\n').find((one) => /[\p{L}\p{N}]/u.test(one) && !/^\s*(?:#|```)/.test(one))
  return line ?? body.split('\n')[0]?.replace(/^#+\s*/, '') ?? ''
}

function oneOf(fields: Readonly<Record<string, unknown>>, ...names: readonly string[]): unknown {
  return fields[names.find((name) => fields[name] !== undefined) ?? '']
}

function shownLine(value: string | undefined): string | undefined {
  return value === undefined ? undefined : visibleLine(value, 500)
}
