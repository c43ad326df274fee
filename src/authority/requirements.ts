import type { ArgPattern, RequirementSet, ShellRunRequirement } from '../tool/requirement.js'
import { canonicalJson } from './canonical-json.js'

/** Returns the union of several sets, without duplicates, in the order of first mention. */
export function unionRequirements(...sets: readonly RequirementSet[]): RequirementSet {
  const read = union(sets.map((set) => set.fs?.read))
  const write = union(sets.map((set) => set.fs?.write))
  const hosts = union(sets.map((set) => set.net?.hosts))
  const shell = union(sets.map((set) => set.shell))
  const capabilities = union(sets.map((set) => set.capabilities))
  return {
    ...(read || write ? { fs: { ...(read && { read }), ...(write && { write }) } } : {}),
    ...(hosts && { net: { hosts } }),
    ...(shell && { shell }),
    ...(capabilities && { capabilities }),
  }
}

/** Returns whether a command matches a requirement: the executable, and each argument its pattern, in order. */
export function matchesCommand(requirement: ShellRunRequirement, argv: readonly string[]): boolean {
  const [cmd, ...args] = argv
  if (cmd !== requirement.cmd) return false
  if (requirement.args === undefined) return true
  return (
    requirement.args.length === args.length &&
    requirement.args.every((pattern, at) => matchesArg(pattern, args[at] ?? ''))
  )
}

/** Returns whether one argument matches its pattern. */
export function matchesArg(pattern: ArgPattern, arg: string): boolean {
  if (typeof pattern === 'string') return arg === pattern
  return 'prefix' in pattern ? arg.startsWith(pattern.prefix) : pattern.wildcard
}

function union<Item>(lists: readonly (readonly Item[] | undefined)[]): Item[] | undefined {
  if (lists.every((list) => list === undefined)) return undefined
  const byContent = new Map<string, Item>()
  for (const item of lists.flatMap((list) => list ?? [])) {
    const content = canonicalJson(item)
    if (!byContent.has(content)) byContent.set(content, item)
  }
  return [...byContent.values()]
}
