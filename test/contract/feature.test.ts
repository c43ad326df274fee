import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { features } from '../../src/session/features.js'
import { importCopy } from '../support/second-copy.js'

type Helpers = typeof import('./open-session.js')
let calls: Helpers['calls']
let eventsOf: Helpers['eventsOf']
let ofType: Helpers['ofType']
let openSession: Helpers['openSession']
let systemPromptOf: Helpers['systemPromptOf']
let toolResults: Helpers['toolResults']

// Test files share a process, which may have loaded the session already: it is loaded again, with the one line that a
// new feature needs in session/features.ts.
beforeAll(async () => {
  const url = (path: string): URL => new URL(path, import.meta.url)
  const helpers = await importCopy<Helpers>(url('./open-session.js'), {
    [url('../../src/session/features.ts').href]: url('./example-feature/features.ts').href,
  })
  ;({ calls, eventsOf, ofType, openSession, systemPromptOf, toolResults } = helpers)
})

const terms = { capstan: 'A winch with a vertical drum.', pawl: 'It keeps a winch from running back.' }

describe('a feature that is one folder and one line in the list', () => {
  it('adds its option, its prompt section, its tool and its events to sessions', async () => {
    const { server, session } = await openSession(
      [calls(['term', { word: 'pawl' }]), 'It holds the winch.'],
      { terms, permissionPolicy: { allow: ['term'] } },
    )
    const events = await eventsOf(session, 'What is a pawl?')
    expect(systemPromptOf(server)).toContain('# Words of this project\ncapstan, pawl: see the tool term.')
    expect(toolResults(server, 1)).toEqual([terms.pawl])
    expect(ofType(events, 'notice').map(({ source, message }) => ({ source, message }))).toEqual([
      { source: 'terms', message: '1 looked up' },
    ])
  })

  it('has its option checked by name before the session exists', async () => {
    await expect(openSession([], { terms: { pawl: 1 } })).rejects.toMatchObject({
      code: 'session_option',
      option: 'terms',
      message: 'terms must have a string for each word.',
    })
  })

  it('adds nothing to a session that does not use it', async () => {
    const { server, session } = await openSession(['Hello.'])
    expect(session.toolNames()).not.toContain('term')
    await session.send('Hi')
    expect(systemPromptOf(server)).not.toContain('Words of this project')
  })

  it('is the example of CONTRIBUTING.md, word for word', () => {
    const page = readFileSync(new URL('../../CONTRIBUTING.md', import.meta.url), 'utf8')
    const source = readFileSync(new URL('./example-feature/feature.ts', import.meta.url), 'utf8')
    expect(page).toContain(source.replaceAll('../../../src/', '../'))
  })
})

describe('the features of a session', () => {
  it('have names and options that no other feature has', () => {
    const names = features.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    const options = features.flatMap(({ options: own }) => Object.keys(own ?? {}))
    expect(options.filter((name, at) => options.indexOf(name) !== at)).toEqual([])
  })
})
