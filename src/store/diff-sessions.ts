import type { AssistantContent, Message, ToolResultPart } from '../tool/completion.js'
import { serializeToolOutput } from '../tool/serialize.js'

/** A user's prompt and everything up to the next one. */
export type SessionTurn = {
  readonly prompt: string
  /** The model's text of all rounds. */
  readonly text: string
  readonly calls: readonly TurnCall[]
}

/** A tool call of a turn, with its result. */
export type TurnCall = {
  readonly name: string
  /** The arguments as JSON text. */
  readonly args: string
  readonly result?: string
}

/** One turn of both sessions, or of the only session that has it. */
export type TurnDiff =
  | { readonly kind: 'same'; readonly a: SessionTurn; readonly b: SessionTurn }
  | {
      readonly kind: 'changed'
      readonly a: SessionTurn
      readonly b: SessionTurn
      /** What differs: the prompt, the model's text, the calls, or their results. */
      readonly what: readonly ('prompt' | 'text' | 'calls' | 'results')[]
    }
  | { readonly kind: 'only_a'; readonly a: SessionTurn }
  | { readonly kind: 'only_b'; readonly b: SessionTurn }

/** The comparison of two sessions. */
export type SessionDiff = { readonly same: boolean; readonly turns: readonly TurnDiff[] }

/** Messages in order, or the state of a session. Hidden messages are not compared. */
export type DiffSide =
  | readonly Message[]
  | { readonly messages: readonly { readonly message: Message; readonly hidden: boolean }[] }

/** Compares two sessions turn by turn. Turns with the same prompt are paired, and those between two pairs in order. */
export function diffSessions(a: DiffSide, b: DiffSide): SessionDiff {
  const turns = aligned(turnsOf(a), turnsOf(b)).map(([left, right]) => compare(left, right))
  return { same: turns.every(({ kind }) => kind === 'same'), turns }
}

/** Formats a comparison as text: one line per turn, followed by the differences. */
export function formatSessionDiff({ same, turns }: SessionDiff): string {
  if (same) return `The same: ${turns.length} turn(s).`
  return turns.map((turn, at) => [heading(turn, at + 1), ...details(turn)].join('\n')).join('\n')
}

function turnsOf(side: DiffSide): SessionTurn[] {
  const messages =
    'messages' in side ? side.messages.flatMap(({ message, hidden }) => (hidden ? [] : [message])) : [...side]
  const turns: { prompt: string; text: string[]; calls: (TurnCall & { id: string })[] }[] = []
  for (const message of messages) {
    if (message.role === 'system') continue
    let turn = turns.at(-1)
    if (message.role === 'user' || turn === undefined) {
      turn = { prompt: '', text: [], calls: [] }
      turns.push(turn)
    }
    if (message.role === 'user') turn.prompt = said(message.content)
    else if (message.role === 'assistant') {
      const text = said(message.content)
      if (text !== '') turn.text.push(text)
      for (const part of message.content)
        if (part.type === 'tool_call')
          turn.calls.push({
            id: part.id,
            name: part.function.name,
            args: serializeToolOutput(part.function.arguments),
          })
    } else for (const result of message.content) answer(turn.calls, result)
  }
  return turns.map(({ prompt, text, calls }) => ({
    prompt,
    text: text.join('\n'),
    calls: calls.map(({ id: _, ...call }) => call),
  }))
}

function answer(calls: (TurnCall & { id: string })[], { id, content }: ToolResultPart): void {
  const at = calls.findLastIndex((call) => call.id === id)
  const call = calls[at]
  if (call === undefined) return
  const result = content.map((piece) => (piece.type === 'text' ? piece.text : `[${piece.type}]`)).join('\n')
  calls[at] = { ...call, result }
}

function said(content: readonly (AssistantContent | { type: string; text?: string })[]): string {
  return content
    .flatMap((part) => (part.type === 'text' && 'text' in part ? [part.text ?? ''] : []))
    .join('\n')
}

type Pair = readonly [SessionTurn | undefined, SessionTurn | undefined]

/** Pairs the longest common sequence of turns with the same prompts, and the turns between two pairs in order. */
function aligned(a: readonly SessionTurn[], b: readonly SessionTurn[]): Pair[] {
  const pairs: Pair[] = []
  let [left, right] = [0, 0]
  const upTo = (i: number, j: number): void => {
    while (left < i || right < j)
      pairs.push([left < i ? a[left++] : undefined, right < j ? b[right++] : undefined])
  }
  for (const [i, j] of samePrompts(a, b)) {
    upTo(i, j)
    pairs.push([a[left++], b[right++]])
  }
  upTo(a.length, b.length)
  return pairs
}

function samePrompts(a: readonly SessionTurn[], b: readonly SessionTurn[]): [number, number][] {
  // Too many turns for the table: they are paired by position instead.
  if (a.length * b.length > maxCells) return []
  const width = b.length + 1
  const longest = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i * width + j] =
        a[i]?.prompt === b[j]?.prompt ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const pairs: [number, number][] = []
  for (let [i, j] = [0, 0]; i < a.length && j < b.length; ) {
    if (a[i]?.prompt === b[j]?.prompt) pairs.push([i++, j++])
    else if (at(i + 1, j) >= at(i, j + 1)) i++
    else j++
  }
  return pairs
}

const maxCells = 4_000_000

function compare(a: SessionTurn | undefined, b: SessionTurn | undefined): TurnDiff {
  if (a === undefined) return { kind: 'only_b', b: b ?? nothing }
  if (b === undefined) return { kind: 'only_a', a }
  const what: ('prompt' | 'text' | 'calls' | 'results')[] = []
  if (a.prompt !== b.prompt) what.push('prompt')
  if (a.text !== b.text) what.push('text')
  const madeSame =
    a.calls.length === b.calls.length &&
    a.calls.every(({ name, args }, at) => name === b.calls[at]?.name && args === b.calls[at]?.args)
  if (!madeSame) what.push('calls')
  else if (a.calls.some(({ result }, at) => result !== b.calls[at]?.result)) what.push('results')
  return what.length === 0 ? { kind: 'same', a, b } : { kind: 'changed', a, b, what }
}

const nothing: SessionTurn = { prompt: '', text: '', calls: [] }

function heading(turn: TurnDiff, number: number): string {
  const prompt = short('b' in turn ? turn.b.prompt : turn.a.prompt)
  switch (turn.kind) {
    case 'same':
      return `  ${number}. ${prompt}`
    case 'changed':
      return `~ ${number}. ${prompt} (${turn.what.join(', ')})`
    case 'only_a':
      return `- ${number}. ${prompt} (only in the first)`
    case 'only_b':
      return `+ ${number}. ${prompt} (only in the second)`
  }
}

function details(turn: TurnDiff): string[] {
  if (turn.kind !== 'changed') return []
  const { a, b, what } = turn
  const lines: string[] = []
  const both = (label: string, left: string, right: string): void => {
    lines.push(`    ${label}`, `    - ${short(left)}`, `    + ${short(right)}`)
  }
  if (what.includes('prompt')) both('asked:', a.prompt, b.prompt)
  if (what.includes('text')) both('said:', a.text, b.text)
  if (what.includes('calls')) both('called:', callsOf(a), callsOf(b))
  if (what.includes('results'))
    a.calls.forEach((call, at) => {
      const other = b.calls[at]?.result
      if (call.result !== other) both(`${call.name}:`, call.result ?? '(none)', other ?? '(none)')
    })
  return lines
}

function callsOf({ calls }: SessionTurn): string {
  return calls.length === 0 ? '(none)' : calls.map(({ name, args }) => `${name}(${args})`).join(' ')
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= maxCharacters ? line : `${line.slice(0, maxCharacters)}…`
}

const maxCharacters = 160
