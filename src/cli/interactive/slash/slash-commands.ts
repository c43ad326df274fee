import { type ModeName, modeNames, modes } from '../../../authority/mode.js'
import { parseCommand } from '../../../commands/index.js'
import type { SessionInfo } from '../../../store/session-store.js'
import { safeLine, safeText } from '../../terminal/safe-text.js'
import type { Chat } from '../chat.js'
import type { Candidate } from '../editor/editor.js'
import { changes, undo } from './file-changes.js'
import { sessionLabel, sessionMeant } from './session-list.js'
import type { SlashCall, SlashCommand, SlashOutcome } from './slash-command.js'

/** Runs a command of the interactive session itself. Undefined: it is not one; the session has some of its own. */
export async function runSlash(
  text: string,
  call: Omit<SlashCall, 'args'>,
): Promise<SlashOutcome | undefined> {
  const parsed = parseCommand(text)
  const command = parsed && slashCommands.find(({ name }) => name === parsed.name)
  return command === undefined ? undefined : command.run({ ...call, args: parsed?.args ?? '' })
}

/** What a text that begins with a slash could become. */
export function completeSlash(text: string, chat: Chat | undefined): Candidate[] {
  if (!text.startsWith('/') || text.includes('\n')) return []
  const space = text.indexOf(' ')
  if (space < 0)
    return allCommands(chat)
      .filter(({ name }) => `/${name}`.startsWith(text))
      .map(({ name, description }) => ({ value: `/${name}`, says: description }))
  const command = slashCommands.find(({ name }) => `/${name}` === text.slice(0, space))
  const values = chat === undefined ? [] : (command?.complete?.(chat) ?? [])
  return values
    .map((value) => ({ value: `${text.slice(0, space)} ${value}` }))
    .filter(({ value }) => value.startsWith(text))
}

const slashCommands: readonly SlashCommand[] = [
  { name: 'help', description: 'What can be typed here', run: ({ chat }) => ({ says: help(chat) }) },
  { name: 'quit', description: 'Leave; also Ctrl-D', run: () => ({ leave: true }) },
  {
    name: 'mode',
    usage: '/mode [name]',
    description: 'Show or change what is done without asking; also Shift-Tab',
    complete: () => ['default', ...modeNames],
    run: ({ args, chat }) => changeMode(args, chat),
  },
  {
    name: 'model',
    usage: '/model [provider/model]',
    description: 'Show the model, or change to another',
    complete: ({ prepared }) => [
      ...prepared.config.providers.flatMap(({ name, models }) => models.map(({ id }) => `${name}/${id}`)),
      'offline',
    ],
    run: async ({ args, chat }) => {
      const before = chat.modelName
      if (args === '') return { says: `model: ${before}` }
      await chat.useModel(args)
      return { says: `model: ${chat.modelName} (was ${before})` }
    },
  },
  { name: 'sessions', description: 'The sessions of this directory', run: ({ chat }) => listSessions(chat) },
  { name: 'resume', usage: '/resume [number or id]', description: 'Go on with another session', run: resume },
  {
    name: 'new',
    description: 'Begin a new session; this one is kept',
    run: async ({ chat }) => {
      await chat.switchTo(undefined)
      return { says: 'a new session' }
    },
  },
  {
    name: 'rewind',
    usage: '/rewind [number]',
    description: 'Go back to before something you said',
    run: rewind,
  },
  {
    name: 'undo',
    description: 'Put back the files that the last run changed',
    run: ({ chat }) => undo(chat),
  },
  {
    name: 'changes',
    usage: '/changes [all]',
    description: 'What the last run changed in files, as a diff; all: in a pager, uncut',
    run: changes,
  },
  {
    name: 'btw',
    usage: '/btw question',
    description: 'Ask something on the side; it is not kept',
    run: async ({ args, chat }) =>
      args === ''
        ? { says: 'usage: /btw question' }
        : { says: safeText((await chat.session.btw(args)).answer) },
  },
  {
    name: 'later',
    usage: '/later words',
    description: 'Say something when the run at work is done',
    run: ({ args }) => (args === '' ? { says: 'usage: /later words' } : { later: args }),
  },
]

/** Those of the interactive session, and those that the session has beside them. */
function allCommands(chat: Chat | undefined): { name: string; usage?: string; description: string }[] {
  const own = slashCommands.map(({ name, usage, description }) => ({
    name,
    description,
    ...(usage !== undefined && { usage }),
  }))
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
    ['Enter', 'send; while something is done: say it to the run at work'],
    ['\\ Enter, Ctrl-J', 'a new line'],
    ['Tab', 'complete a command'],
    ['Up, Down', 'what was sent before'],
    ['Shift-Tab', 'the next mode'],
    ['Esc', 'cancel what is done'],
    ['Ctrl-C', 'cancel what is done; again: leave'],
    ['Ctrl-L, Ctrl-Z', 'paint anew; suspend'],
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
      '  default       asks where no rule decides',
      ...modeNames.map((name) => `  ${name.padEnd(12)}  ${modes[name].description}`),
    ].join('\n')
  if (args === '') return { says: list() }
  const named: ModeName | undefined = modeNames.find((name) => name === args)
  if (named === undefined && args !== 'default')
    return { says: `There is no mode "${safeLine(args, 40)}".\n${list()}` }
  await chat.setMode(named)
  return { says: `mode: ${named ?? 'default'}` }
}

async function listSessions(chat: Chat): Promise<SlashOutcome> {
  if (chat.prepared.store === undefined) return { says: 'Sessions are not kept (--store none).' }
  const sessions = (await chat.sessions()).slice(0, 20)
  if (sessions.length === 0) return { says: 'There is no session of this directory yet.' }
  const labels = await labelsOf(chat, sessions)
  const lines = sessions.map(
    ({ id }, at) =>
      `${id === chat.session.sessionId ? '*' : ' '} ${String(at + 1).padStart(2)}  ${labels[at]}`,
  )
  return { says: [...lines, '/resume number goes on with one of them'].join('\n') }
}

function labelsOf(chat: Chat, sessions: readonly SessionInfo[]): Promise<string[]> {
  return Promise.all(sessions.map((info) => sessionLabel(chat.prepared.store, info)))
}

async function resume({ args, chat, choose }: SlashCall): Promise<SlashOutcome> {
  const all = await chat.sessions()
  const others = all.filter(({ id }) => id !== chat.session.sessionId).slice(0, 20)
  if (args === '') {
    if (others.length === 0) return { says: 'There is no other session of this directory.' }
    if (choose === undefined) return listSessions(chat)
    const chosen = await choose('Go on with', await labelsOf(chat, others))
    const info = chosen === undefined ? undefined : others[chosen]
    if (info === undefined) return {}
    await chat.switchTo(info.id)
    return { recap: true }
  }
  const meant = sessionMeant(all, args)
  if (meant === undefined)
    return { says: `There is no session "${safeLine(args, 80)}" of this directory; /sessions lists them.` }
  await chat.switchTo(meant.id)
  return { recap: true }
}

async function rewind({ args, chat, choose }: SlashCall): Promise<SlashOutcome> {
  const said = chat.session.messages().filter(({ role, text }) => role === 'user' && !text.startsWith('<'))
  const newestFirst = said.toReversed().slice(0, 20)
  if (newestFirst.length === 0) return { says: 'Nothing was said yet.' }
  const labels = newestFirst.map(({ text }) => safeLine(text, 80))
  const number = /^\d{1,2}$/.test(args) ? Number(args) - 1 : undefined
  if (number === undefined && choose === undefined)
    return { says: labels.map((label, at) => `  ${String(at + 1).padStart(2)}  ${label}`).join('\n') }
  const chosen = number ?? (await choose?.('Go back to before', labels))
  const message = chosen === undefined ? undefined : newestFirst[chosen]
  if (message === undefined) return {}
  const { prompt, hidden } = await chat.session.rewind(message.id)
  return {
    says: `${hidden} messages are hidden; files stay as they are (/undo puts them back)`,
    draft: prompt,
  }
}
