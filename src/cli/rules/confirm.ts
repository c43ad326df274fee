import { parseProjectRules, projectConfirmation } from '../../authority/project-rules.js'
import type { McpFileServer } from '../../mcp/host-types.js'
import { confirmMcpFile, readMcpFile } from '../../mcp/index.js'
import { openConfirmations } from '../../workspace/rules/confirmations.js'
import { readIfThere } from '../../workspace/rules/read-if-there.js'
import type { Args } from '../args.js'
import { CommandLineError, UsageError } from '../errors.js'
import { type ExitCode, exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { askLine } from '../terminal/ask-line.js'
import { safeJson, safeText } from '../terminal/safe-text.js'
import { openRulePlace, type RulePlace } from './rule-place.js'

/** A file that came with a directory, and the effect of confirming its exact text. */
type FoundFile = {
  readonly kind: 'rules' | 'mcp'
  readonly path: string
  readonly text: string
  readonly confirmed: boolean
  /** What the file allows once it is confirmed. */
  readonly effect: string
  confirm(): Promise<void>
}

/** Shows the unconfirmed files that came with a directory, and confirms each one that the user approves. */
export async function confirmFiles(args: Args, io: Io): Promise<number> {
  const [wanted, ...rest] = args.positionals
  if ((wanted !== undefined && wanted !== 'rules' && wanted !== 'mcp') || rest.length > 0)
    throw new UsageError(
      'Only "rules" and "mcp" can be confirmed.',
      'capstan.acl is confirmed with "capstan trust".',
    )
  const place = await openRulePlace(args, io)
  const found = [
    ...(wanted === 'mcp' ? [] : await rulesFile(place)),
    ...(wanted === 'rules' ? [] : await mcpFile(place)),
  ]
  if (found.length === 0)
    throw new CommandLineError(
      `Nothing to confirm in ${place.root}: it has no .capstan/rules and no .mcp.json.`,
    )
  let code: ExitCode = exitCodes.done
  for (const file of found) {
    const outcome = await confirmOne(file, args, io)
    if (outcome === exitCodes.cancelled) return outcome
    if (outcome !== exitCodes.done) code = outcome
  }
  return code
}

async function confirmOne(file: FoundFile, args: Args, io: Io): Promise<ExitCode> {
  const { path, text, confirmed, effect } = file
  const isJson = args.has('json')
  const report = (state: 'confirmed' | 'already confirmed' | 'not confirmed', text: string): Promise<void> =>
    write(io.stdout, isJson ? `${safeJson({ file: path, kind: file.kind, state })}\n` : `${safeText(text)}\n`)
  if (confirmed) {
    await report('already confirmed', `${path} is already confirmed.`)
    return exitCodes.done
  }
  if (!isJson) await write(io.stdout, `${safeText(`${path}:\n\n${text.trimEnd()}\n\n${effect}`)}\n`)
  if (!args.has('yes')) {
    if (!io.isTTY.stdin || !io.isTTY.stdout || isJson)
      throw new UsageError(
        'Confirmation needs a terminal.',
        'Read the files, then run: capstan rules confirm --yes',
      )
    const answer = await askLine(`Use ${safeText(path)} from now on? [y/N] `, io)
    if (answer === 'interrupted') return exitCodes.cancelled
    if (!/^y(es)?$/i.test(answer.text.trim())) {
      await report('not confirmed', 'Not confirmed: the file has no effect.')
      return exitCodes.incomplete
    }
  }
  await file.confirm()
  await report('confirmed', `Confirmed: ${path} is used until it changes.`)
  return exitCodes.done
}

async function rulesFile({ root, userDir, files, scope }: RulePlace): Promise<FoundFile[]> {
  const path = files.workspaceFile
  const text = await readIfThere(path, maxBytes)
  if (text === undefined) return []
  // An invalid rule file is an error here, as it is in a session.
  const allows = parseProjectRules(text, scope).filter(({ action }) => action === 'allow').length
  const confirmation = await projectConfirmation(root, text)
  const confirmed = (await openConfirmations({ root, userDir }).all()).has(confirmation)
  const effect = `Its "ask" and "deny" rules already apply. Once confirmed, its "allow" rules (${allows}) allow calls without a question.`
  return [{ kind: 'rules', path, text, confirmed, effect, confirm: () => files.confirm(confirmation) }]
}

async function mcpFile({ root, userDir }: RulePlace): Promise<FoundFile[]> {
  const options = { root, userDir, env: {} }
  const file = await readMcpFile(options)
  if (file === undefined) return []
  const { path, text, confirmed, confirmation, servers, problems } = file
  const effect = [
    'Sessions in this directory will start or connect to:',
    ...servers.flatMap(serverLines),
    ...problems.map((problem) => `  note: ${problem}`),
  ].join('\n')
  return [
    { kind: 'mcp', path, text, confirmed, effect, confirm: () => confirmMcpFile(options, confirmation) },
  ]
}

function serverLines({ name, by, runs, env = {}, confined, withheld }: McpFileServer): string[] {
  if (by === 'http') return [`  ${name}: ${runs}`]
  const words = Object.entries(env).map(([key, value]) => `    with ${key}=${value}`)
  const bounds = confined
    ? `    confined: the sandbox denies it ${withheld}`
    : '    not confined: it can use the network and your home directory'
  return [`  ${name}: ${runs}`, ...words, bounds]
}

const maxBytes = 1_048_576
