import type { SessionNotification } from '@agentclientprotocol/sdk'
import { expectTypeOf } from 'vitest'
import type { SessionUpdate } from '../../src/acp/wire.js'

// What is sent is what the official SDK reads, kind by kind.
type Official = SessionNotification['update']
expectTypeOf<SessionUpdate['sessionUpdate']>().toExtend<Official['sessionUpdate']>()
