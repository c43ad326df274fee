// With everything on that makes a session safe: rules, watchdog, a hook, a reader of the events, and a record in files.
import { join } from 'node:path'
import { hostOptions } from '../loop/rounds.mjs'
import { openCapstan } from './open-capstan.mjs'

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: 'capstan: rules, hook, events, record in files',
  packages: ['capstan'],
  async open(surroundings) {
    const { FileSessionStore } = await import('capstan/store')
    const sessionStore = new FileSessionStore(join(surroundings.place, 'sessions'))
    return openCapstan(surroundings, { ...hostOptions, sessionStore, autoSave: true })
  },
}
