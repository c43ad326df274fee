import type { MethodTable } from './method.js'
import { objectsIn, textIn } from './params.js'
import { readPrompt } from './read-prompt.js'

/** Prompts and their end. */
export const promptMethods: MethodTable = {
  async 'session/prompt'(params, { host, signal }) {
    const session = host.session(textIn(params, 'sessionId'))
    const request = readPrompt(objectsIn(params, 'prompt'))
    return { stopReason: await session.prompt(request, signal) }
  },
  async 'session/cancel'(params, { host }) {
    host.session(textIn(params, 'sessionId')).cancel()
  },
}
