// The records of a session as a run leaves them.

/** @typedef {import('capstan/store').SessionRecord} SessionRecord */

const output = 'The quick brown fox jumps over the lazy dog, and "quotes" it.\n'.repeat(8)

/** @type {SessionRecord} */
export const sessionRow = {
  type: 'session',
  data: { id: 's', schemaVersion: 1, createdAtMs: 1, updatedAtMs: 1 },
}

/** Two messages: an answer with a call, and its result of 500 characters. @param {number} n @returns {SessionRecord[]} */
export function roundRecords(n) {
  const row = { sessionId: 's', createdAtMs: 1_700_000_000_000 + n, runId: 'run-1' }
  const [asked, answered] = [`m${n}a`, `m${n}b`]
  return [
    { type: 'message', data: { ...row, id: asked, role: 'assistant', providerId: `resp_${n}` } },
    part(asked, 0, { type: 'text', text: `I will look at file ${n}` }),
    part(asked, 1, {
      type: 'tool_call',
      id: `call_${n}`,
      function: { name: 'read', arguments: { file_path: `src/file${n}.ts` } },
    }),
    { type: 'message', data: { ...row, id: answered, role: 'tool' } },
    part(answered, 0, {
      type: 'tool_result',
      id: `call_${n}`,
      toolName: 'read',
      content: [{ type: 'text', text: output }],
    }),
  ]
}

/** @param {number} n @returns {SessionRecord} */
export function checkpointRecord(n) {
  const data = { runId: 'run-1', sessionId: 's', round: n, messageId: `m${n}b`, toolCallsCount: n }
  return {
    type: 'checkpoint',
    data: { ...data, usage: { inputTokens: 100_000 + n, outputTokens: 5 }, atMs: 1_700_000_000_000 + n },
  }
}

/**
 * @param {string} messageId
 * @param {number} index
 * @param {import('capstan/store').PartRow['content']} content
 * @returns {SessionRecord}
 */
function part(messageId, index, content) {
  return { type: 'part', data: { id: `${messageId}.${index}`, messageId, sessionId: 's', index, content } }
}
