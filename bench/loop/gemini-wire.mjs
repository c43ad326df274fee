// Answers as Gemini's interface gives them.

/**
 * @param {{ calls: readonly { id: string, file: string }[], pieces: number, whole: boolean }} answer
 * @returns {string[]} one piece of JSON for each event, or one for the whole
 */
export function geminiEvents({ calls, pieces, whole }) {
  const texts = calls.length === 0 ? textOf(pieces) : ['I look', ' at the next file.']
  const called = calls.map(({ id, file }) => ({
    functionCall: { id, name: 'read', args: { file_path: file } },
  }))
  if (whole) return [response([{ text: texts.join('') }, ...called], 'STOP')]
  return [
    ...texts.map((text) => response([{ text }])),
    response(called.length > 0 ? called : [{ text: '' }], 'STOP'),
  ]
}

/** @param {number} pieces */
function textOf(pieces) {
  return pieces === 2 ? ['It is', ' done.'] : Array.from({ length: pieces }, (_, at) => `word${at % 1000} `)
}

/** @param {readonly unknown[]} parts @param {string} [finishReason] */
function response(parts, finishReason) {
  return JSON.stringify({
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) }],
    usageMetadata: { promptTokenCount: 3000, candidatesTokenCount: 20, totalTokenCount: 3020 },
    modelVersion: 'm',
  })
}
