import {
  type AndOr,
  type Command,
  forEachChild,
  type If,
  type ParsedScript,
  type Pipeline,
  type Statement,
  type SyntaxNode,
  type Redirection as SyntaxRedirection,
} from 'unbash'
import type { CommandUnit, NamedPath, PossibleCommand, Word } from './analysis.js'
import { isLoopVariable } from './environment.js'
import { expandCommand } from './expand-command.js'
import { hiddenEvaluation } from './hidden-evaluation.js'
import { visitSyntax } from './parse-bash.js'
import { readRedirections } from './redirections.js'
import { readAssignmentArgument, readWord } from './static-word.js'
import { mergePlaces, type Outcome, type Places, staysAt, UNKNOWN } from './working-directory.js'

/** The findings in a text; filled while its tree is walked. */
export type Findings = {
  readonly units: CommandUnit[]
  readonly possible: PossibleCommand[]
  readonly paths: NamedPath[]
  readonly hosts: Set<string>
  readonly doubts: Set<string>
  /** Reasons why no name in the text can be trusted: functions, PATH, aliases. */
  readonly renamed: Set<string>
  /** The directory in which the text starts. */
  readonly start: string
  /** Functions can change the directory whenever they are called, so the directory of every command is unknown. */
  lost: boolean
  /** Walks a script inside the text with the walk that found the command. */
  readonly walkScript: typeof collectUnits
  /** Separate findings, for a text that may not run at all. */
  readonly nested: (start: string) => Findings
}

export function newFindings(start: string): Findings {
  return {
    units: [],
    possible: [],
    paths: [],
    hosts: new Set(),
    doubts: new Set(),
    renamed: new Set(),
    start,
    lost: false,
    walkScript: collectUnits,
    nested: newFindings,
  }
}

/** The text that is walked: the command itself, or a script inside it. */
export type Scope = {
  readonly source: string
  readonly depth: number
  /** Doubts that all of its units inherit. */
  readonly inherited: readonly string[]
  /** Every suffix of the words was already examined. */
  readonly covered?: true
  /** The text may not run at all: only its commands are collected. */
  readonly possible?: true
}

/**
 * Collects every simple command of a script, at any depth, and follows the working directory like bash: `cd` applies
 * to what runs after it in the same shell, and only if it succeeded.
 */
export function collectUnits(
  script: ParsedScript,
  scope: Scope,
  places: Places,
  findings: Findings,
): Outcome {
  visitSyntax(script, (node) => {
    if (node.type === 'Function') {
      findings.renamed.add(`it defines a function ${node.name.text}`)
      findings.lost = true
    }
  })
  return walkList({ scope, findings }, script.commands, findings.lost ? UNKNOWN : places)
}

type Walk = { readonly scope: Scope; readonly findings: Findings }

function walkList(walk: Walk, statements: readonly Statement[], places: Places): Outcome {
  let outcome = staysAt(places)
  for (const statement of statements) {
    const before = mergePlaces(outcome.success, outcome.failure)
    const after = walkNode(walk, statement.command, before)
    outcome = statement.background ? staysAt(before) : after
  }
  return outcome
}

function walkNode(walk: Walk, node: SyntaxNode, places: Places): Outcome {
  switch (node.type) {
    case 'Command':
      return walkCommand(walk, node, places)
    case 'Pipeline':
      return walkPipeline(walk, node, places)
    case 'AndOr':
      return walkAndOr(walk, node, places)
    case 'CompoundList':
      return walkList(walk, node.commands, places)
    case 'BraceGroup':
      return walkList(walk, node.body.commands, places)
    case 'Subshell':
      walkList(walk, node.body.commands, places)
      return staysAt(places)
    case 'Redirected':
      return walkRedirected(walk, node.redirects, walk.scope.source.slice(node.pos, node.end), places, () =>
        walkNode(walk, node.command, places),
      )
    case 'If':
      return walkConditional(walk, node, places)
    case 'While': {
      const around = placesAround(node, places)
      walkList(walk, node.clause.commands, around)
      walkList(walk, node.body.commands, around)
      return staysAt(around)
    }
    case 'For':
    case 'Select': {
      noteVariable(walk, node.name.text)
      for (const word of node.wordlist ?? []) walkExpansions(walk, word, places)
      const around = placesAround(node, places)
      walkList(walk, node.body.commands, around)
      return staysAt(around)
    }
    case 'ArithmeticFor': {
      const around = placesAround(node, places)
      for (const part of [node.initialize, node.test, node.update])
        if (part) walkExpansions(walk, part, around)
      walkList(walk, node.body.commands, around)
      return staysAt(around)
    }
    case 'Case': {
      walkExpansions(walk, node.word, places)
      let after = places
      for (const item of node.items) {
        for (const pattern of item.pattern) walkExpansions(walk, pattern, places)
        // With `;&` a body also runs after the body before it.
        const outcome = walkList(walk, item.body.commands, after)
        after = mergePlaces(after, outcome.success, outcome.failure)
      }
      return staysAt(after)
    }
    case 'Function':
      walkNode(walk, node.body, UNKNOWN)
      return staysAt(places)
    case 'Coproc':
      if (node.name) noteVariable(walk, node.name.text)
      walkNode(walk, node.body, places)
      return staysAt(places)
    default:
      // `[[ … ]]`, `(( … ))`: no commands of their own, but expansions.
      walkExpansions(walk, node, places)
      return staysAt(places)
  }
}

function walkAndOr(walk: Walk, node: AndOr, places: Places): Outcome {
  const [first, ...more] = node.commands
  let outcome = first ? walkNode(walk, first, places) : staysAt(places)
  for (const [at, command] of more.entries()) {
    const { success, failure } = outcome
    if (node.operators[at] === '||') {
      const after = walkNode(walk, command, failure)
      outcome = { success: mergePlaces(success, after.success), failure: after.failure }
    } else {
      const after = walkNode(walk, command, success)
      outcome = { success: after.success, failure: mergePlaces(failure, after.failure) }
    }
  }
  return outcome
}

function walkCommand(walk: Walk, node: Command, places: Places): Outcome {
  const words: Word[] = node.name ? [readWord(node.name)] : []
  for (const arg of node.args)
    words.push(arg.type === 'Assignment' ? readAssignmentArgument(arg) : readWord(arg))
  const assignments = node.prefix.flatMap((item) =>
    item.type === 'Assignment'
      ? [
          {
            name: item.name,
            value: item.value.type === 'Word' ? readWord(item.value) : { text: item.text },
          },
        ]
      : [],
  )
  const outcome = expandCommand(
    {
      text: walk.scope.source.slice(node.pos, node.end),
      words,
      assignments,
      ...readRedirections(node.redirects, places),
      places,
      wrappers: 0,
    },
    walk.scope,
    walk.findings,
  )
  for (const item of node.prefix) walkExpansions(walk, item, places)
  // Bash stores a command substitution with its redirections moved to the end: `$(<<< x [[ a ]])` runs as `[[ a ]]
  // <<< x`, where the word is a keyword.
  if (node.name && RESERVED_WORDS.has(node.name.text))
    walk.findings.doubts.add(`bash may read ${node.name.text} as a keyword`)
  if (node.name) walkExpansions(walk, node.name, places)
  for (const item of node.suffix) walkExpansions(walk, item, places)
  return outcome
}

function walkPipeline(walk: Walk, node: Pipeline, places: Places): Outcome {
  const negated = node.prefixes.filter((prefix) => prefix.type === 'Negation').length % 2 === 1
  const [only, ...more] = node.commands
  if (only && more.length === 0) {
    const { success, failure } = walkNode(walk, only, places)
    return negated ? { success: failure, failure: success } : { success, failure }
  }
  for (const command of node.commands) walkNode(walk, command, places)
  return staysAt(places)
}

function walkConditional(walk: Walk, node: If, places: Places): Outcome {
  const ends: Places[] = []
  let before = places
  for (const branch of [node, ...node.elif]) {
    const clause = walkList(walk, branch.clause.commands, before)
    const body = walkList(walk, branch.then.commands, clause.success)
    ends.push(body.success, body.failure)
    before = clause.failure
  }
  const otherwise = node.else ? walkList(walk, node.else.commands, before) : staysAt(before)
  return staysAt(mergePlaces(...ends, otherwise.success, otherwise.failure))
}

/** A compound command with redirections: bash opens them first, so they are a unit before the others. */
function walkRedirected(
  walk: Walk,
  redirects: readonly SyntaxRedirection[],
  text: string,
  places: Places,
  inside: () => Outcome,
): Outcome {
  const read = readRedirections(redirects, places)
  if (read.redirections.length > 0)
    expandCommand(
      { text, words: [], assignments: [], ...read, places, wrappers: 0 },
      walk.scope,
      walk.findings,
    )
  for (const redirect of redirects) walkExpansions(walk, redirect, places)
  return inside()
}

/** The body of a loop starts in the directory where its last iteration ended. */
function placesAround(node: SyntaxNode, places: Places): Places {
  let moves = false
  visitSyntax(node, (inside) => {
    if (inside.type !== 'Command' || !inside.name) return
    const name = readWord(inside.name).value
    if (name === undefined || MOVERS.has(name)) moves = true
  })
  return moves ? UNKNOWN : places
}

function noteVariable(walk: Walk, name: string): void {
  if (!isLoopVariable(name)) walk.findings.doubts.add(`it sets the variable ${name}`)
}

/** Walks commands in substitutions, at any depth of a word, an assignment, a redirection or an expression. */
function walkExpansions(walk: Walk, node: SyntaxNode, places: Places): void {
  if (node.type === 'Script') {
    // A script in escaped backticks has its own text.
    const scope = node.source === undefined ? walk.scope : { ...walk.scope, source: node.source }
    walkList({ scope, findings: walk.findings }, node.commands, places)
    return
  }
  const doubt = hiddenEvaluation(node)
  if (doubt !== undefined) walk.findings.doubts.add(doubt)
  forEachChild(node, (child) => walkExpansions(walk, child, places))
}

const RESERVED_WORDS = new Set([
  '!',
  '[[',
  '{',
  'case',
  'coproc',
  'for',
  'function',
  'if',
  'select',
  'time',
  'until',
  'while',
])
const MOVERS = new Set(['cd', 'pushd', 'popd', 'eval', 'source', '.', 'builtin', 'command', 'trap'])
