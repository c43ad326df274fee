import { type ModeName, modeNames, modes } from '../authority/mode.js'
import type { WireConfigOption, WireMode, WireModes } from './wire.js'

/** The mode without its own permissions. */
const defaultMode = 'default'

const wireModes: readonly WireMode[] = [
  { id: defaultMode, name: 'Default', description: 'reads the workspace; asks before anything else' },
  ...modeNames.map((id) => ({ id, name: nameOf(id), description: modes[id].description })),
]

/** The thinking budget of a model, in tokens. */
export const thoughtLevels = {
  default: { name: 'Default', budget: undefined },
  off: { name: 'Off', budget: 0 },
  low: { name: 'Low', budget: 4_096 },
  medium: { name: 'Medium', budget: 16_384 },
  high: { name: 'High', budget: 32_768 },
} as const
export type ThoughtLevel = keyof typeof thoughtLevels

/** What a user can set in a session. */
export type Settings = {
  readonly mode: ModeName | undefined
  readonly model: string
  readonly models: readonly string[]
  /** Absent for a model without thinking. */
  readonly thoughtLevel: ThoughtLevel | undefined
}

/** Returns the mode of a session with all modes, for clients that support only modes. */
export function modesOf({ mode }: Settings): WireModes {
  return { currentModeId: mode ?? defaultMode, availableModes: wireModes }
}

/** Returns the settings as options, including the model and its thinking level. */
export function configOptionsOf({ mode, model, models, thoughtLevel }: Settings): WireConfigOption[] {
  return [
    {
      id: 'mode',
      name: 'Mode',
      description: 'What the agent is allowed to do without a question',
      category: 'mode',
      type: 'select',
      currentValue: mode ?? defaultMode,
      options: wireModes.map(({ id, name, description }) => ({ value: id, name, description })),
    },
    {
      id: 'model',
      name: 'Model',
      description: 'The language model of the next round',
      category: 'model',
      type: 'select',
      currentValue: model,
      options: [...new Set([model, ...models])].map((name) => ({ value: name, name })),
    },
    ...(thoughtLevel === undefined ? [] : [thoughtOption(thoughtLevel)]),
  ]
}

/** Returns the mode with this id; null for the default, undefined if there is no such mode. */
export function readMode(id: string): ModeName | null | undefined {
  return id === defaultMode ? null : modeNames.find((name) => name === id)
}

export function readThoughtLevel(id: string): ThoughtLevel | undefined {
  return levelNames.find((name) => name === id)
}

// The keys of a constant object are exactly its names.
const levelNames = Object.keys(thoughtLevels) as readonly ThoughtLevel[]

function thoughtOption(currentValue: ThoughtLevel): WireConfigOption {
  return {
    id: 'thought_level',
    name: 'Thinking',
    description: 'How much the model thinks before it answers',
    category: 'thought_level',
    type: 'select',
    currentValue,
    options: levelNames.map((value) => ({ value, name: thoughtLevels[value].name })),
  }
}

function nameOf(id: string): string {
  const words = id.replaceAll('-', ' ')
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`
}
