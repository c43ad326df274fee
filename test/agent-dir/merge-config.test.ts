import { describe, expect, it } from 'vitest'
import type { AgentConfig } from '../../src/agent/config/config.js'
import { mergeConfig } from '../../src/agent/dir/merge-config.js'
import { defaultLimits } from '../../src/workspace/limits/resource-limits.js'

const config = (fields: Partial<AgentConfig>): AgentConfig => ({ providers: [], mcpServers: [], ...fields })

describe('the configuration of a directory over that of the host', () => {
  it.each<[string, Partial<AgentConfig>, Partial<AgentConfig>, Partial<AgentConfig>]>([
    ['makes a limit tighter', { maxToolRounds: 9 }, { maxToolRounds: 3 }, { maxToolRounds: 3 }],
    ['makes no limit wider', { maxToolRounds: 3 }, { maxToolRounds: 9 }, { maxToolRounds: 3 }],
    ['turns no sandbox off', {}, { sandbox: 'off' }, { sandbox: 'auto' }],
    ['turns no required sandbox off', { sandbox: 'required' }, { sandbox: 'auto' }, { sandbox: 'required' }],
    ['requires a sandbox', { sandbox: 'auto' }, { sandbox: 'required' }, { sandbox: 'required' }],
    ['names a sandbox', { sandbox: 'required' }, { sandbox: 'landlock' }, { sandbox: 'landlock' }],
    [
      'changes no sandbox that the host names',
      { sandbox: 'bubblewrap' },
      { sandbox: 'landlock' },
      { sandbox: 'bubblewrap' },
    ],
    [
      'only lowers limits of commands, the defaults included',
      { commandLimits: { processes: 100, fileBytes: 7 } },
      { commandLimits: { processes: 200, cpuSeconds: 10_000_000, fileBytes: 5, diskBytes: 9, openFiles: 8 } },
      {
        commandLimits: {
          memoryBytes: defaultLimits().memoryBytes,
          processes: 100,
          cpuSeconds: 10_000_000,
          diskBytes: 9,
          fileBytes: 5,
          openFiles: 8,
        },
      },
    ],
    [
      'opens no host, and adds no secret, authority or private address',
      { network: { allowHosts: ['a.example'], readOnly: ['r.example'] } },
      {
        network: {
          allowHosts: ['a.example', 'evil.example'],
          allowPrivate: true,
          readOnly: false,
          gitFetch: true,
          secrets: [{ host: 'evil.example', value: 'of-the-host' }],
          certificates: '/evil.pem',
          limits: { maxUploadBytes: 9 },
        },
      },
      { network: { allowHosts: ['a.example'], readOnly: ['r.example'] } },
    ],
    [
      'has no network where the host has none',
      {},
      { network: { allowHosts: ['evil.example'] } },
      { network: {} },
    ],
    [
      'closes hosts, and makes more of them read-only',
      { network: { allowHosts: ['a.example', 'b.example'], readOnly: ['a.example'], gitFetch: true } },
      { network: { allowHosts: ['a.example'], readOnly: true, gitFetch: false } },
      { network: { allowHosts: ['a.example'], readOnly: true, gitFetch: false } },
    ],
    ['sets what the host has not', {}, { thinkingBudget: 5 }, { thinkingBudget: 5 }],
    [
      'returns no tools that the host has removed',
      { autoDelegation: { allowManualDelegation: false } },
      { autoDelegation: { enabled: true, allowManualDelegation: true } },
      { autoDelegation: { enabled: true, allowManualDelegation: false } },
    ],
    [
      'asks subagents no sooner and no more of them',
      { autoDelegation: { minConfidence: 0.9, maxTasks: 2 }, autoParallel: false },
      { autoDelegation: { minConfidence: 0.1, maxTasks: 8 }, autoParallel: true },
      { autoDelegation: { minConfidence: 0.9, maxTasks: 2 }, autoParallel: false },
    ],
    [
      'takes no lane from its workers, and leaves its limits alone',
      { queue: { executeMaxConcurrency: 1, laneHandlers: { execute: { mode: 'external' } } } },
      {
        queue: {
          executeMaxConcurrency: 64,
          enableDlq: true,
          laneHandlers: { execute: { mode: 'internal', timeoutMs: 5 } },
        },
      },
      {
        queue: {
          executeMaxConcurrency: 1,
          enableDlq: true,
          laneHandlers: { execute: { mode: 'external', timeoutMs: 5 } },
        },
      },
    ],
  ])('%s', (_, host, own, expected) => {
    expect(mergeConfig(config(host), config(own))).toEqual(config(expected))
  })
})
