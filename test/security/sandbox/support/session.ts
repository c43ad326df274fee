import type { SessionOptions } from '../../../../src/session/options.js'
import { bash, type Opened, openSession, toolResults } from '../../../contract/open-session.js'

/**
 * Lets a model run commands, one answer each, in a sandbox unless the options say otherwise; every question is answered
 * with yes.
 */
export async function runAsModel(
  commands: readonly string[],
  options: SessionOptions & Readonly<Record<string, unknown>> = {},
  files: Readonly<Record<string, string>> = {},
): Promise<Opened & { readonly outputs: readonly string[] }> {
  const opened = await openSession(
    [...commands.map(bash), 'done'],
    {
      sandbox: 'required',
      onAsk: () => ({ decision: 'once' }),
      permissionPolicy: { allow: ['bash(*)'] },
      ...options,
    },
    files,
  )
  await opened.session.send('go')
  return { ...opened, outputs: toolResults(opened.server, commands.length) }
}
