import { isAbsolute } from 'node:path'
import type { MethodTable, Params } from './method.js'
import { textIn } from './params.js'
import { invalidParams } from './rpc-error.js'

/** Sessions: open, list, change, close, delete. */
export const sessionMethods: MethodTable = {
  async 'session/new'(params, { host }) {
    const place = await host.place(cwdIn(params))
    const opened = host.open(place)
    return { sessionId: opened.id }
  },
}

function cwdIn(params: Params): string {
  const cwd = textIn(params, 'cwd')
  if (!isAbsolute(cwd)) throw invalidParams(`cwd must be an absolute path, not ${JSON.stringify(cwd)}.`)
  return cwd
}
