import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../src/loop/events.js'
import { detectSandbox } from '../../src/workspace/sandbox/probe.js'
import { bash, openSession, toolResults } from './open-session.js'

const mebibyte = 1024 * 1024

/**
 * A command that reaches each limit, with what model and host learn. Bounded: 256 processes, 128 MB. Files count as
 * memory where the directory is in memory, so the one that fills the disk writes less than the limit of memory.
 */
const reaching = [
  {
    command:
      'bomb() { [ $1 = 0 ] && exec sleep 600; bomb $(($1-1)) & bomb $(($1-1)) & wait; }; bomb 7 2>/dev/null',
    limit: 'processes',
    max: 48,
    words: 'it reached the limit of processes and threads (48)',
    raise:
      'commandLimits.processes of the session, command_limits in the configuration, or --limit processes=NUMBER',
  },
  {
    command: 'head -c 134217728 /dev/zero | tail; sleep 600',
    limit: 'memory',
    max: 96 * mebibyte,
    words: 'it reached the limit of memory (96 MiB)',
    raise: '--limit memory=SIZE',
  },
  {
    command: 'while :; do :; done',
    limit: 'cpu',
    max: 1,
    words: 'it reached the limit of processor time (1 s)',
    raise: '--limit cpu=DURATION',
  },
  {
    command: 'i=0; while [ $i -lt 50 ]; do i=$((i+1)); head -c 1000000 /dev/zero >f$i; done; sleep 600',
    limit: 'disk',
    max: 24 * mebibyte,
    words: 'it reached the limit of new data on the disk (24 MiB)',
    raise: '--limit disk=SIZE',
  },
  {
    command: 'exec head -c 100000000 /dev/zero >large',
    limit: 'file_size',
    max: 8 * mebibyte,
    words: 'it reached the limit of the size of a file (8 MiB)',
    raise: '--limit file=SIZE',
  },
] as const

const sandboxes: ('off' | 'bubblewrap' | 'landlock')[] = ['off']
for (const backend of ['bubblewrap', 'landlock'] as const)
  if ((await detectSandbox({ backend })).kind !== 'none') sandboxes.push(backend)
  else console.warn(`NOT RUN: the limits of commands in ${backend}`)

const ofProcessorTime = reaching.filter(({ limit }) => limit === 'cpu')
const ofAnotherKind = reaching.filter(({ limit }) => limit !== 'cpu')

describe.each(sandboxes)('a command that reaches a limit, sandbox %s', (sandbox) => {
  // Processor time apart, because the others take some too: more of it on a busy machine. And once, because a session
  // has no limit below a second: the limit itself is tested in each sandbox (test/security/sandbox/limits.test.ts).
  it.each([
    ...(sandbox === sandboxes.at(-1)
      ? [{ which: 'of processor time', group: ofProcessorTime, cpuSeconds: 1 }]
      : []),
    { which: 'of another kind', group: ofAnotherKind, cpuSeconds: undefined },
  ])(
    'SEC-133 $which is ended, and the model and the host read which limit it was and how to raise it',
    {
      timeout: 300_000,
    },
    async ({ group, cpuSeconds }) => {
      const { server, session } = await openSession([...group.map(({ command }) => bash(command)), 'done'], {
        sandbox,
        onAsk: () => ({ decision: 'once' }),
        permissionPolicy: { allow: ['bash(*)'] },
        commandLimits: {
          processes: 48,
          memoryBytes: 96 * mebibyte,
          ...(cpuSeconds !== undefined && { cpuSeconds }),
          diskBytes: 24 * mebibyte,
          fileBytes: 8 * mebibyte,
        },
      })
      const ends: Extract<AgentEvent, { type: 'tool_end' }>[] = []
      for await (const event of await session.stream('go')) if (event.type === 'tool_end') ends.push(event)
      expect(ends.map(({ metadata }) => [metadata['limit'], metadata['limit_max']])).toEqual(
        group.map(({ limit, max }) => [limit, max]),
      )
      const results = toolResults(server, group.length)
      for (const [at, { words, raise }] of group.entries()) {
        expect(results[at]).toContain(words)
        expect(results[at]).toContain(raise)
      }
    },
  )
})
