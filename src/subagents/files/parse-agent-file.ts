import { nearestNames } from '../../tool/nearest.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { visibleText } from '../../toolbox/untrusted-text.js'
import { readFrontMatter } from '../../workspace/front-matter.js'
import { readYaml } from '../../workspace/yaml/read-yaml.js'
import type { AgentDefinition } from '../agent-definition.js'
import {
  type Fields,
  fieldOf,
  flagField,
  manifestOf,
  modelOf,
  nameOf,
  rightsOf,
  stepsOf,
  textField,
  wordField,
} from './agent-fields.js'
import { AgentFileError } from './errors.js'
import { confirmationInheritances, workerAgent } from './worker-spec.js'

export type AgentText = {
  readonly text: string
  /** The file name without its extension. */
  readonly stem: string
  readonly format: 'markdown' | 'yaml'
}

export type ParsedAgent = { readonly agent: AgentDefinition; readonly problems: readonly string[] }

/**
 * Parses an agent file: YAML, or Markdown with front matter and the prompt as its body. Without a prompt, the
 * description is the prompt. A file with a `kind` defines a worker. Throws {@link AgentFileError} or `YamlError` for
 * an invalid file: an agent of which only parts were read could do more than intended.
 */
export function parseAgentFile(
  { text, stem, format }: AgentText,
  known: readonly AgentDefinition[],
): ParsedAgent {
  const { fields, lines, body } = format === 'yaml' ? { ...readYaml(text), body: '' } : readFrontMatter(text)
  const problems = oddFields(fields, lines)
  const written = textField(fields, 'prompt') ?? visibleText(body).trim()
  if (fieldOf(fields, 'kind') !== undefined) {
    const spec = { ...fields, name: fields['name'] ?? stem, ...(written !== '' && { prompt: written }) }
    return { agent: workerAgent(spec, known), problems }
  }
  const description = textField(fields, 'description')
  // An agent without a prompt uses its description as the prompt.
  const prompt = written === '' ? description : written
  if (prompt === undefined) throw new AgentFileError('it has no prompt and no description; write one of them')
  const mode = wordField(fieldOf(fields, 'mode'), 'mode', ['primary', 'subagent', 'all'])
  const caller = wordField(fieldOf(fields, 'caller'), 'caller', ['agent'])
  const inheritance = wordField(
    fieldOf(fields, 'confirmation_inheritance', 'confirmationInheritance'),
    'confirmation_inheritance',
    confirmationInheritances,
  )
  const isolation = wordField(fieldOf(fields, 'isolation'), 'isolation', ['worktree'])
  return {
    agent: {
      name: nameOf(fieldOf(fields, 'name'), stem),
      description: oneLine(description ?? prompt),
      prompt,
      ...rightsOf(fields),
      ...manifestOf(fieldOf(fields, 'manifest')),
      ...stepsOf(fieldOf(fields, 'max_steps', 'maxSteps', 'max-steps', 'maxTurns')),
      ...modelOf(fieldOf(fields, 'model'), problems),
      ...flagField(fields, 'hidden'),
      ...flagField(fields, 'inspectable'),
      ...omitUndefined({ mode, isolation, caller, confirmationInheritance: inheritance }),
    },
    problems,
  }
}

/**
 * Fields that restrict an agent: an unknown field with a similar name is an error, because it is probably a
 * misspelling.
 */
const restricting = [
  'tools',
  'allowedTools',
  'allowed_tools',
  'allowed-tools',
  'disallowedTools',
  'disallowed_tools',
  'disallowed-tools',
  'permissions',
  'manifest',
  'max_steps',
  'maxSteps',
  'max-steps',
  'maxTurns',
  'confirmation_inheritance',
  'confirmationInheritance',
]
/** One spelling of each of them. */
const plainNames = [
  'tools',
  'allowedTools',
  'disallowedTools',
  'permissions',
  'manifest',
  'max_steps',
  'confirmation_inheritance',
]
const others = [
  'name',
  'description',
  'prompt',
  'model',
  'mode',
  'hidden',
  'inspectable',
  'isolation',
  'caller',
  'kind',
]
/** Fields for users or for other systems, which are ignored silently. */
const silent = ['color', 'icon', 'version', 'author', 'license', 'tags', 'metadata', 'category']

/** Fields of other systems: they are not misspellings, and have no effect. */
const foreign = ['permissionMode', 'mcpServers', 'hooks', 'skills', 'memory', 'background', 'effort']

function oddFields(fields: Fields, lines: ReadonlyMap<string, number>): string[] {
  return Object.keys(fields).flatMap((name) => {
    if (restricting.includes(name) || others.includes(name) || silent.includes(name)) return []
    const line = `line ${lines.get(name) ?? 1}`
    const [near] = foreign.includes(name) ? [] : nearestNames(name, plainNames)
    if (near !== undefined)
      throw new AgentFileError(`${line}: the field "${name}" is not known; did you mean "${near}"?`)
    return [`${line}: the field "${name}" has no effect here`]
  })
}

function oneLine(text: string): string {
  const line = visibleText(text).replace(/\s+/g, ' ').trim()
  return line.length <= maxDescriptionLength ? line : `${line.slice(0, maxDescriptionLength - 1)}…`
}

const maxDescriptionLength = 1_024
