/** Calls that tell policies apart, and the outcome of each. */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { PermissionPolicy } from '../../../src/authority/policy.js'
import type { AskRequest } from '../../../src/loop/ask.js'
import type { SessionOptions } from '../../../src/session/options.js'
import type { Session } from '../../../src/session/session.js'
import type { ScriptedStep } from '../../../src/testing/scripted-model.js'
import type { CompletionRequest } from '../../../src/tool/completion.js'

/** Each says by its result whether it ran. */
const probes = [
  { name: 'read', args: { file_path: 'a.txt' } },
  { name: 'read', args: { file_path: 'secret/key.txt' } },
  { name: 'write', args: { file_path: 'out/b.txt', content: 'x' } },
  { name: 'write', args: { file_path: 'a.txt', content: 'sign' } },
  { name: 'bash', args: { command: 'true' } },
  { name: 'bash', args: { command: 'ls secret' } },
] as const

/** What they are about. */
export const probedFiles = { 'a.txt': 'sign', 'secret/key.txt': 'key', 'out/.keep': '' }

const patterns = [
  'read',
  'read(secret/**)',
  'write',
  'write(out/**)',
  'write(a.txt)',
  'bash',
  'bash(true)',
  'bash(ls *)',
  'fs.write',
  'task',
  '*',
]

export const policies: fc.Arbitrary<PermissionPolicy> = fc
  .record({
    actions: fc.array(fc.constantFrom('allow', 'ask', 'deny', undefined), {
      minLength: patterns.length,
      maxLength: patterns.length,
    }),
    defaultDecision: fc.constantFrom('allow', 'ask', 'deny', undefined),
  })
  .map(({ actions, defaultDecision }) => {
    const of = (action: string): string[] => patterns.filter((_, at) => actions[at] === action)
    return {
      allow: of('allow'),
      ask: of('ask'),
      // A tree whose root hands nothing on would show nothing.
      deny: of('deny').filter((pattern) => pattern !== 'task' && pattern !== '*'),
      ...(defaultDecision !== undefined && { defaultDecision }),
    }
  })

export const modes: fc.Arbitrary<SessionOptions['mode']> = fc.constantFrom(
  undefined,
  'plan',
  'read-only',
  'accept-edits',
  'full',
)

/** All that can be called with the tools at hand. */
export function callProbes({ tools }: CompletionRequest): ScriptedStep | string {
  const shown = new Set(tools.map(({ name }) => name))
  const known = probes.flatMap(({ name, args }, at) =>
    shown.has(name) ? [{ name, args, id: `probe-${at}` }] : [],
  )
  return known.length === 0 ? 'no tools' : { toolCalls: known }
}

export type Ran = { readonly ran: boolean; readonly asked: boolean }

/** A person who says no to everything but what leads to the probes, and sees what was asked; and what ran. */
export function probeWatch(leading: readonly string[]): {
  onAsk(request: AskRequest): { readonly decision: 'once' | 'reject' }
  watch(session: Session): void
  outcomes(): Ran[]
} {
  const asked = new Set<string>()
  const ran = new Map<string, boolean>()
  return {
    onAsk({ toolName, toolCallId = '' }) {
      if (leading.includes(toolName)) return { decision: 'once' }
      asked.add(toolCallId.split(':').at(-1) ?? '')
      return { decision: 'reject' }
    },
    watch(session) {
      session.registerHook('see', 'post_tool_use', null, null, ({ payload }) => {
        const at = probes.findIndex(
          ({ name, args }) => name === payload.tool && JSON.stringify(args) === JSON.stringify(payload.args),
        )
        if (at >= 0) ran.set(`probe-${at}`, payload.result.success)
      })
    },
    outcomes: () =>
      probes.map((_, at) => ({ ran: ran.get(`probe-${at}`) ?? false, asked: asked.has(`probe-${at}`) })),
  }
}

/** Without a user who approves, the caller must have been able to do it by itself. */
export function expectNoMore(below: readonly Ran[], above: readonly Ran[], where: string): void {
  for (const [at, { ran }] of below.entries())
    if (ran) expect(above[at], `probe ${at} ${where}`).toEqual({ ran: true, asked: false })
}
