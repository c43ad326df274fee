import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Session } from '../../session/session.js'
import { kernelOf } from '../../session/session-class.js'
import { objectSchema } from '../../tool/object-schema.js'
import { asRecorded } from '../as-recorded.js'
import { ProblemError } from '../problem.js'
import { answer, json, type Route, type SessionContext, sessionRoute, text } from '../route.js'

/** How much of a file is read. Pages are cut from the redacted whole, because a secret can cross a page boundary. */
const maxFileBytes = 10 * 1024 * 1024
const maxPage = 1_000_000

/** Serves the whole output of a call whose output was truncated, as pages of the file that the runtime wrote. */
export const callOutputRoute: Route = sessionRoute(
  'GET',
  '/runs/{runId}/calls/{callId}/output',
  'getCallOutput',
  {
    summary: 'The whole output of a call whose output was truncated, in pages, without secrets.',
    tag: 'runs',
    query: {
      from: { type: 'integer', minimum: 0, description: 'The first character.' },
      limit: { type: 'integer', minimum: 1, maximum: maxPage, default: 200_000 },
    },
    responses: answer(
      'One page. `isCut` is true when the file is larger than 10 MiB: the rest is not shown.',
      objectSchema({
        text: text(),
        from: { type: 'integer' },
        total: { type: 'integer' },
        isCut: { type: 'boolean' },
      }),
    ),
    problems: ['run_not_found', 'output_not_found'],
    async handle(context) {
      const { query, session } = context
      const path = await outputPathOf(context)
      const from = Number(query.get('from') ?? 0)
      const limit = Number(query.get('limit') ?? 200_000)
      const { whole, isCut } = await readOutput(session, path)
      return json(200, { text: whole.slice(from, from + limit), from, total: whole.length, isCut })
    },
  },
)

/** Returns the path that the log has for the call; a client cannot name one. */
async function outputPathOf({ core, session, params }: SessionContext): Promise<string> {
  const { runId = '', callId = '' } = params
  if ((await core.run(session, runId)) === undefined) throw new ProblemError('run_not_found')
  const end = (await session.runEvents(runId)).findLast(
    ({ event }) => event.type === 'tool_end' && event.toolId === callId,
  )?.event
  const path = end?.type === 'tool_end' ? end.metadata['output_path'] : undefined
  if (typeof path !== 'string') throw new ProblemError('output_not_found')
  return path
}

/**
 * Reads an output file. Only files directly in the private directory of the open session are accepted, so a log cannot
 * name another file or a link.
 */
async function readOutput(
  session: Session,
  path: string,
): Promise<{ readonly whole: string; readonly isCut: boolean }> {
  const { workspace } = await kernelOf(session).engine.open()
  if (workspace.scratch.path === undefined || dirname(path) !== workspace.scratch.path)
    throw new ProblemError('output_not_found')
  // A command can replace the file by a pipe. Without O_NONBLOCK, opening it would block a thread forever.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  const file = await open(path, flags).catch(() => {
    throw new ProblemError('output_not_found')
  })
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new ProblemError('output_not_found')
    const size = Math.min(stat.size, maxFileBytes)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0)
    const isCut = stat.size > maxFileBytes
    const bytes = buffer.subarray(0, bytesRead)
    // The last line of a cut file is dropped, because it can contain the beginning of a secret.
    const end = isCut ? bytes.lastIndexOf(0x0a) + 1 : bytes.length
    return { whole: asRecorded(session, bytes.toString('utf8', 0, end)), isCut }
  } finally {
    await file.close()
  }
}
