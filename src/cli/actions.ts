import { nearestNames, quoteNames } from '../tool/nearest.js'
import type { Args } from './args.js'
import { UsageError } from './errors.js'
import type { Io } from './io.js'

export type Action = (args: Args, io: Io) => Promise<number>

/** Runs the action that the first argument names, with the arguments after it; `list` when there is no argument. */
export async function runAction(
  actions: Readonly<Record<string, () => Promise<Action>>>,
  args: Args,
  io: Io,
): Promise<number> {
  const [name = 'list'] = args.positionals
  const load = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (load === undefined) {
    const near = nearestNames(name, Object.keys(actions))
    throw new UsageError(
      `Unknown action ${JSON.stringify(name)}.`,
      near.length > 0 ? `Did you mean ${quoteNames(near)}?` : `Actions: ${Object.keys(actions).join(', ')}.`,
    )
  }
  const action = await load()
  return action(args.after(1), io)
}
