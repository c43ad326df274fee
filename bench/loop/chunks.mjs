// Pieces of an answer as the chat completions interface streams them.

/** @param {unknown} delta @param {string | null} [finish] */
export function chunk(delta, finish = null) {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices,
  })
}
export const usage = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [],
  usage: { prompt_tokens: 3000, completion_tokens: 20, total_tokens: 3020 },
})
/** A piece of text. */
export const says = (/** @type {string} */ text) => chunk({ content: text })
