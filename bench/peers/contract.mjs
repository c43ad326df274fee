// The interface of every contender: the same tool, the same model server, the same questions.
import { setTimeout as sleep } from 'node:timers/promises'
import { readBelow } from '../loop/bare-loop.mjs'

/**
 * @typedef {{ stream: boolean, onText?: (text: string) => void }} Asking
 * @typedef {{ role: 'user' | 'assistant', content: string }} Said
 * @typedef {{ ask: (prompt: string, asking: Asking) => Promise<unknown>, close?: () => unknown }} Conversation
 * @typedef {{ conversation: (history: readonly Said[]) => Conversation, close?: () => unknown }} Opened
 * @typedef {{ url: string, root: string, place: string, read: (args: { file_path: string }) => Promise<string>, rounds: number, hostTool?: boolean }} Surroundings
 * `hostTool`: the tool is the host's also for those that read files with a tool of their own.
 */
/**
 * `packages`: what a program imports to use it. `cannot`: what it has no way to do, with the reason.
 * @typedef {{
 *   title: string
 *   packages: readonly string[]
 *   cannot?: Partial<Record<'plain' | 'stream' | 'parallel', string>>
 *   open: (surroundings: Surroundings) => Promise<Opened>
 * }} Peer
 */

/** In the order of the tables. */
export const names = [
  'fetch',
  'capstan',
  'capstan-exit',
  'capstan-bare',
  'tanstack',
  'ai',
  'pi',
  'strands',
  'voltagent',
  'openai-agents',
  'langgraph',
  'mastra',
  'adk',
]

/** Contenders that are not other agent libraries. */
export const own = ['fetch', 'capstan']

export const instructions = 'You are a careful assistant. Read what you are asked to read.'
export const toolDescription = 'Read a file.'

/** Imports a package by a string, so that this code can be checked without the package. @param {string} name */
export function load(name) {
  return import(name)
}

/** The work of the tool for all libraries with host tools: read a file, or wait for some time. @param {string} root */
export function readIn(root) {
  const take = readBelow(root)
  let count = 0
  /** @type {number | undefined} */
  let wait
  return {
    read: async (/** @type {{ file_path: string }} */ args) => {
      count++
      if (wait === undefined) return take(args)
      if (wait > 0) await sleep(wait)
      return `${args.file_path} was seen`
    },
    taking: (/** @type {number | undefined} */ ms) => {
      wait = ms
    },
    taken: () => {
      const before = count
      count = 0
      return before
    },
  }
}
