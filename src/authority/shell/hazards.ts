import type { Word } from './analysis.js'
import { commandName, commandTable, ownArguments } from './command-table.js'
import { findHazards } from './find-expression.js'
import { hazardChecks } from './hazard-checks.js'
import type { CommandTable } from './hazard-table.js'
import { ALWAYS_DOUBTED, KNOWN_SUBCOMMANDS } from './hazard-table-dev.js'
import { GIT_GLOBAL, GIT_SUBCOMMANDS } from './hazard-table-git.js'
import { parseOptions } from './option-table.js'

/**
 * Returns why a command that users commonly allow by name would do more than its name says. The tables list the
 * allowed options: an unknown option raises a doubt. A command that is in no table raises none, because the author of
 * a rule for it knows it better.
 */
export function hazardsOf(words: readonly Word[]): string[] {
  const [first, ...args] = words
  const name = commandName(first)
  if (name === undefined) return []
  const always = Object.hasOwn(ALWAYS_DOUBTED, name) ? ALWAYS_DOUBTED[name] : undefined
  if (always !== undefined) return [always]
  if (name === 'git') return gitHazards(args)
  if (name === 'find') return findHazards(args)
  const doubts = hazardChecks(name, args)
  const table = commandTable(name)
  if (!table) return doubts
  if (table.always !== undefined) return [table.always]
  return [
    ...optionHazards(name, table, ownArguments(name, args)),
    ...subcommandHazards(name, table, args),
    ...doubts,
  ]
}

function optionHazards(name: string, table: CommandTable, args: readonly Word[]): string[] {
  return parseOptions(table, args).options.flatMap((option) =>
    option.problem === undefined ? [] : [`${name} ${option.name} ${option.problem}`],
  )
}

function subcommandHazards(name: string, table: CommandTable, args: readonly Word[]): string[] {
  const known = Object.hasOwn(KNOWN_SUBCOMMANDS, name) ? KNOWN_SUBCOMMANDS[name] : undefined
  const subcommand = known && parseOptions(table, args).operands[0]?.value
  if (!known || subcommand === undefined || known.includes(subcommand)) return []
  return [`${name} ${subcommand} is not among the subcommands known to be harmless`]
}

function gitHazards(args: readonly Word[]): string[] {
  const { operands } = parseOptions(GIT_GLOBAL, args)
  const doubts = optionHazards('git', GIT_GLOBAL, args)
  const [first, ...rest] = operands
  const subcommand = first?.value
  if (subcommand === undefined) return doubts
  const table = Object.hasOwn(GIT_SUBCOMMANDS, subcommand) ? GIT_SUBCOMMANDS[subcommand] : undefined
  if (!table) return [...doubts, `git ${subcommand} is not among the git commands known to be harmless`]
  return [
    ...doubts,
    ...optionHazards(`git ${subcommand}`, table, rest),
    ...hazardChecks(`git ${subcommand}`, rest),
    ...rest.flatMap(({ value }) =>
      value !== undefined && /^[\w+.-]+::/.test(value)
        ? [`git ${subcommand} ${value} runs a transport program`]
        : [],
    ),
    // A format can ask for the signature of a commit or tag, as `--show-signature` does.
    ...(rest.some(({ value }) => value !== undefined && /%G|%\(signature/.test(value))
      ? [`git ${subcommand} checks signatures with another program`]
      : []),
  ]
}
