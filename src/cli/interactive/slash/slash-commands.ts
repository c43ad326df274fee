import { type ModeName, modeNames, modes } from '../../../authority/mode.js'
import { parseCommand } from '../../../feature/parse-command.js'
import { load } from '../../../session/journal/restore.js'
import type { SessionInfo, SessionStore } from '../../../store/session-store.js'
import { messageOf } from '../../../tool/errors.js'
import { modelLabels } from '../../models/model-list.js'
import { firstWords } from '../../sessions/message-text.js'
import { safeLine, safeText } from '../../terminal/safe-text.js'
import { timeText } from '../../terminal/time-text.js'
import type { Chat } from '../chat.js'
import type { Candidate } from '../editor/editor.js'
import { changes, undo } from './file-changes.js'
import type { SlashCall, SlashCommand, SlashOutcome } from './slash-command.js'

/** Runs a slash command of the CLI. Undefined for other texts, which can be commands of the session. */
export async function runSlash(
  text: string,
  call: Omit<SlashCall, 'args'>,
): Promise<SlashOutcome | undefined> {
  const parsed = parseCommand(text)
  const command = parsed && slashCommands.find(({ name }) => name === parsed.name)
  return command === undefined ? undefined : command.run({ ...call, args: parsed?.args ?? '' })
}

/** The completions of a text that starts with a slash. */
export function completeSlash(text: string, chat: Chat | undefined): Candidate[] {
  if (!text.startsWith('/') || text.includes('\n')) return []
  const space = text.indexOf(' ')
  if (space < 0)
    return allCommands(chat)
      .filter(({ name }) => `/${name}`.startsWith(text))
      .map(({ name, description }) => ({ value: `/${name}`, description }))
  const command = slashCommands.find(({ name }) => `/${name}` === text.slice(0, space))
  const values = chat === undefined ? [] : (command?.complete?.(chat) ?? [])
  return values
    .map((value) => ({ value: `${text.slice(0, space)} ${value}` }))
    .filter(({ value }) => value.startsWith(text))
}

const slashCommands: readonly SlashCommand[] = [
  { name: 'help', description: 'List commands and keys', run: ({ chat }) => ({ text: help(chat) }) },
  { name: 'quit', description: 'Exit (also Ctrl-D)', run: () => ({ leave: true }) },
  {
    name: 'mode',
    usage: '/mode [name]',
    description: 'Show or change the permission mode (also Shift-Tab)',
    complete: () => ['default', ...modeNames],
    run: ({ args, chat }) => changeMode(args, chat),
  },
  {
    name: 'model',
    usage: '/model [provider/model or a part of it]',
    description: 'Show or change the model; lists models with their prices',
    complete: ({ prepared }) => [
      ...prepared.config.providers.flatMap(({ name, models }) => models.map(({ id }) => `${name}/${id}`)),
      'offline',
    ],
    run: changeModel,
  },
  {
    name: 'sessions',
    description: 'List the sessions of this directory',
    run: ({ chat }) => listSessions(chat),
  },
  { name: 'resume', usage: '/resume [number or id]', description: 'Resume another session', run: resume },
  {
    name: 'new',
    description: 'Start a new session; this one stays stored',
    run: async ({ chat }) => {
      await chat.switchTo(undefined)
      return { text: 'new session' }
    },
  },
  {
    name: 'rewind',
    usage: '/rewind [number]',
    description: 'Go back to before one of your prompts',
    run: rewind,
  },
  {
    name: 'undo',
    description: 'Restore the files that the last run changed',
    run: ({ chat }) => undo(chat),
  },
  {
    name: 'changes',
    usage: '/changes [all]',
    description: 'Show the file changes of the last run; all: every line, in a pager',
    run: changes,
  },
  {
    name: 'inspect',
    description:
      'Print a link that shows this session in the browser, where its approvals can be answered too',
    run: async ({ chat }) => ({ text: `Open ${await chat.inspect()}` }),
  },
  {
    name: 'btw',
    usage: '/btw question',
    description: 'Ask a side question, which is not added to the conversation',
    run: async ({ args, chat }) =>
      args === ''
        ? { text: 'usage: /btw question' }
        : { text: safeText((await chat.session.btw(args)).answer) },
  },
  {
    name: 'later',
    usage: '/later prompt',
    description: 'Send a prompt after the current run',
    run: ({ args }) => (args === '' ? { text: 'usage: /later prompt' } : { later: args }),
  },
]

/** The slash commands of the CLI and of the session, by name. */
function allCommands(chat: Chat | undefined): Pick<SlashCommand, 'name' | 'usage' | 'description'>[] {
  const own = slashCommands.map(({ name, usage, description }) => ({ name, usage, description }))
  const others = (chat?.session.listCommands() ?? []).filter(
    ({ name }) => !own.some((each) => each.name === name),
  )
  return [...own, ...others].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function help(chat: Chat): string {
  const rows = allCommands(chat).map(
    ({ name, usage, description }) => [usage ?? `/${name}`, description] as const,
  )
  const keys = [
    ['Enter', 'Send the prompt; during a run: send a message to the run'],
    ['\\ Enter, Ctrl-J', 'Start a new line'],
    ['Tab', 'Complete a command'],
    ['Up, Down', 'Recall earlier prompts'],
    ['Shift-Tab', 'Change to the next permission mode'],
    ['Esc', 'Cancel the run'],
    ['Ctrl-C', 'Cancel the run; twice: exit'],
    ['Ctrl-L, Ctrl-Z', 'Redraw; suspend'],
  ] as const
  const width = Math.max(...[...rows, ...keys].map(([left]) => left.length))
  const table = (all: readonly (readonly [string, string])[]): string =>
    all.map(([left, right]) => `  ${left.padEnd(width)}  ${safeLine(right, 200)}`).join('\n')
  return `Commands\n${table(rows)}\n\nKeys\n${table(keys)}`
}

async function changeMode(args: string, chat: Chat): Promise<SlashOutcome> {
  const list = (): string =>
    [
      `mode: ${chat.mode ?? 'default'}`,
      '  default       ask where no rule decides',
      ...modeNames.map((name) => `  ${name.padEnd(12)}  ${modes[name].description}`),
    ].join('\n')
  if (args === '') return { text: list() }
  const named: ModeName | undefined = modeNames.find((name) => name === args)
  if (named === undefined && args !== 'default')
    return { text: `Unknown mode "${safeLine(args, 40)}".\n${list()}` }
  await chat.setMode(named)
  return { text: `mode: ${named ?? 'default'}` }
}

async function listSessions(chat: Chat): Promise<SlashOutcome> {
  if (chat.prepared.store === undefined) return { text: 'Sessions are not stored (--store none).' }
  const sessions = (await chat.sessions()).slice(0, 20)
  if (sessions.length === 0) return { text: 'This directory has no sessions yet.' }
  const labels = await labelsOf(chat, sessions)
  const lines = sessions.map(
    ({ id }, at) =>
      `${id === chat.session.sessionId ? '*' : ' '} ${String(at + 1).padStart(2)}  ${labels[at]}`,
  )
  return { text: [...lines, 'To resume one, type /resume and its number.'].join('\n') }
}

function labelsOf(chat: Chat, sessions: readonly SessionInfo[]): Promise<string[]> {
  return Promise.all(sessions.map((info) => sessionLabel(chat.prepared.store, info)))
}

/** Changes the model. Without a full name, the user chooses from the models that can be used at once. */
async function changeModel({ args, chat, choose }: SlashCall): Promise<SlashOutcome> {
  const before = chat.modelName
  const isName = args.includes('/') || args === 'offline'
  const listed = isName ? [] : chat.usableModels().filter(({ name }) => name.includes(args))
  const exact = listed.filter(({ name }) => name.endsWith(`/${args}`))
  const only = exact.length === 1 ? exact[0] : listed.length === 1 ? listed[0] : undefined
  if (args !== '' && (isName || listed.length === 0)) return useModel(args)
  if (args !== '' && only !== undefined) return useModel(only.name)
  if (choose === undefined || listed.length === 0)
    return { text: [`model: ${before}`, ...modelLabels(listed)].join('\n') }
  const chosen = await choose(`Which model? (now ${before})`, [...modelLabels(listed), 'offline'])
  return chosen === undefined ? {} : useModel(listed[chosen]?.name ?? 'offline')

  async function useModel(name: string): Promise<SlashOutcome> {
    await chat.useModel(name)
    return { text: `model: ${chat.modelName} (was ${before})` }
  }
}

async function resume({ args, chat, choose }: SlashCall): Promise<SlashOutcome> {
  const all = await chat.sessions()
  const others = all.filter(({ id }) => id !== chat.session.sessionId).slice(0, 20)
  if (args === '') {
    if (others.length === 0) return { text: 'This directory has no other session.' }
    if (choose === undefined) return listSessions(chat)
    const chosen = await choose('Resume which session?', await labelsOf(chat, others))
    const info = chosen === undefined ? undefined : others[chosen]
    if (info === undefined) return {}
    await chat.switchTo(info.id)
    return { recap: true }
  }
  const found = findListed(all, args)
  if (found === undefined)
    return { text: `No session "${safeLine(args, 80)}" in this directory. /sessions lists them.` }
  await chat.switchTo(found.id)
  return { recap: true }
}

async function rewind({ args, chat, choose }: SlashCall): Promise<SlashOutcome> {
  const prompts = chat.session.messages().filter(({ role, text }) => role === 'user' && !text.startsWith('<'))
  const newestFirst = prompts.toReversed().slice(0, 20)
  if (newestFirst.length === 0) return { text: 'This session has no prompts yet.' }
  const labels = newestFirst.map(({ text }) => safeLine(text, 80))
  const number = /^\d{1,2}$/.test(args) ? Number(args) - 1 : undefined
  if (number === undefined && choose === undefined)
    return { text: labels.map((label, at) => `  ${String(at + 1).padStart(2)}  ${label}`).join('\n') }
  const chosen = number ?? (await choose?.('Go back to before which prompt?', labels))
  const message = chosen === undefined ? undefined : newestFirst[chosen]
  if (message === undefined) return {}
  const { prompt, hidden } = await chat.session.rewind(message.id)
  return {
    text: `${hidden} messages are hidden. Files are unchanged; /undo restores them.`,
    draft: prompt,
  }
}

/** One line about a session: its time, its title, and the start of its id. */
async function sessionLabel(store: SessionStore | undefined, info: SessionInfo): Promise<string> {
  const { id, updatedAtMs } = info
  const when = updatedAtMs === undefined ? '' : `${timeText(updatedAtMs)}  `
  // A generated id is shortened; one that the user chose is not.
  const shortId = /^[\da-f]{8}-[\da-f-]{27}$/.test(id) ? id.slice(0, 8) : safeLine(id, 64)
  return `${when}${await aboutSession(store, info, 60)}  (${shortId})`
}

/** Finds a session by its number in the list, its id, or the start of its id. */
function findListed(sessions: readonly SessionInfo[], text: string): SessionInfo | undefined {
  const exact = sessions.find(({ id }) => id === text)
  if (exact !== undefined) return exact
  const numbered = /^\d{1,3}$/.test(text) ? sessions[Number(text) - 1] : undefined
  if (numbered !== undefined) return numbered
  const matching = text.length < 4 ? [] : sessions.filter(({ id }) => id.startsWith(text))
  return matching.length === 1 ? matching[0] : undefined
}

/** Describes a session in one line: its title, else the start of its first prompt, else why it cannot be read. */
async function aboutSession(
  store: SessionStore | undefined,
  { id, title }: SessionInfo,
  maxLength: number,
): Promise<string> {
  if (title !== undefined) return safeLine(title, maxLength)
  try {
    const state = store === undefined ? undefined : await load(store, id)
    return firstWords(state?.messages.map(({ message }) => message) ?? [], maxLength) || '(no messages)'
  } catch (error) {
    return `(${safeLine(messageOf(error), maxLength)})`
  }
}
