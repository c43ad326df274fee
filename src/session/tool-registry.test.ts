import { describe, expect, it } from 'vitest'
import type { AnyTool } from '../tool/contract.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import { shownLimits } from './shown-limits.js'
import { ToolRegistry } from './tool-registry.js'

/** So many are shown. */
const maxShown = 20
const tool = (name: string, description = name): AnyTool =>
  createJsonTool({ name, description, parameters: { type: 'object' }, execute: () => name })
/** One that has to be asked what it is, and may take its time. */
const slow = (name: string, describe: () => Promise<string>): AnyTool => ({
  name,
  definition: async () => ({ name, description: await describe(), parameters: { type: 'object' } }),
  call: () => name,
})
const search = tool('find_tools')
/** A model that can read so little that the number of tools decides. */
const limits = shownLimits(
  'auto',
  () => false,
  () => ({ contextTokens: 10 }),
)
const many = (count: number): AnyTool[] => Array.from({ length: count }, (_, at) => tool(`t${at}`))
const namesOf = (definitions: readonly { readonly name: string }[]): string[] =>
  definitions.map(({ name }) => name)

describe('the tools of a session', () => {
  it('are all shown, without tool search, as long as there are few', async () => {
    const tools = new ToolRegistry(many(maxShown), search, [], limits)
    expect(namesOf(await tools.definitions())).toHaveLength(maxShown)
    expect(tools.hidden()).toEqual([])
    expect(tools.get('find_tools')).toBeUndefined()
  })

  it('are hidden when there are too many, and tool search is shown', async () => {
    const tools = new ToolRegistry(many(maxShown + 2), search, [], limits)
    expect(namesOf(await tools.definitions()).slice(-2)).toEqual([`t${maxShown - 1}`, 'find_tools'])
    expect(namesOf(tools.hidden())).toEqual([`t${maxShown}`, `t${maxShown + 1}`])
    expect(tools.isShown(`t${maxShown}`)).toBe(false)
  })

  it('are only added at the end of those that are shown', async () => {
    const tools = new ToolRegistry(many(maxShown + 3), search, [], limits)
    const before = namesOf(await tools.definitions())
    tools.offer([`t${maxShown + 2}`, 't0', 'nothing', `t${maxShown + 2}`])
    expect(namesOf(await tools.definitions())).toEqual([...before, `t${maxShown + 2}`])
    tools.add(tool('t3', 'another'))
    const after = await tools.definitions()
    expect(namesOf(after)).toEqual([...before, `t${maxShown + 2}`])
    expect(after[3]?.description).toBe('another')
  })

  it('are returned as the same objects as long as they do not change', async () => {
    const tools = new ToolRegistry(many(2), search)
    const first = await tools.definitions()
    expect(await tools.definitions()).toBe(first)
    expect(tools.all()).toBe(tools.all())
    tools.add(tool('more'))
    expect(await tools.definitions()).not.toBe(first)
    expect(tools.all()).toHaveLength(3)
  })

  it('are shared by sessions that start with the same tools, until one of them changes', async () => {
    const tools = many(3)
    const [one, other] = [new ToolRegistry(tools, search), new ToolRegistry([...tools], search)]
    const definitions = await one.definitions()
    expect(await other.definitions()).toBe(definitions)
    one.add(tool('more'))
    one.remove('t0')
    expect(other.names()).toEqual(['t0', 't1', 't2'])
    expect(await other.definitions()).toBe(definitions)
    expect(namesOf(await one.definitions())).toEqual(['t1', 't2', 'more'])
    expect(new ToolRegistry(tools, search).names()).toEqual(['t0', 't1', 't2'])
  })

  it('are shared with those that are hidden, by sessions whose models can read as much', () => {
    const tools = many(maxShown + 2)
    const one = new ToolRegistry(tools, search, [], limits)
    const other = new ToolRegistry(tools, search, [], limits)
    expect(other.hidden()).toBe(one.hidden())
    const all = shownLimits(
      'auto',
      () => false,
      () => ({ contextTokens: 1_000_000 }),
    )
    expect(new ToolRegistry(tools, search, [], all).hidden()).toEqual([])
    one.offer([`t${maxShown}`])
    expect(other.isShown(`t${maxShown}`)).toBe(false)
    expect(namesOf(other.hidden())).toHaveLength(2)
  })

  it('that can be searched are the same list until tools are added or removed', () => {
    const tools = new ToolRegistry(many(maxShown + 3), search, [], limits)
    const searchable = tools.searchable()
    expect(namesOf(searchable)).toEqual(namesOf(tools.hidden()))
    tools.offer([`t${maxShown + 1}`])
    expect(namesOf(tools.hidden())).toEqual([`t${maxShown}`, `t${maxShown + 2}`])
    expect(tools.searchable()).toBe(searchable)
    tools.add(tool('new', 'a new one'))
    expect(namesOf(tools.searchable())).toEqual([`t${maxShown}`, `t${maxShown + 2}`, 'new'])
    tools.offer(['new'])
    tools.add(tool(`t${maxShown}`, 'another'))
    expect(tools.searchable()[0]?.description).toBe('another')
    tools.remove(`t${maxShown}`)
    expect(namesOf(tools.searchable())).toEqual([`t${maxShown + 2}`])
  })

  it('that could not be described before a tool was offered are found afterwards', async () => {
    let attempts = 0
    const late = slow('late', async () => {
      if (attempts++ === 0) throw new Error('not yet')
      return 'at last'
    })
    const tools = new ToolRegistry([...many(maxShown + 2), late], search, [], limits)
    await tools.definitions()
    expect(namesOf(tools.hidden())).not.toContain('late')
    tools.offer([`t${maxShown}`])
    await tools.definitions()
    expect(namesOf(tools.hidden())).toContain('late')
    expect(namesOf(tools.searchable())).toContain('late')
  })

  it('with a computed definition are computed for each session', async () => {
    let asked = 0
    const tools = [slow('s', async () => `${asked++}`)]
    for (const description of ['0', '1'])
      expect((await new ToolRegistry(tools, search).definitions())[0]).toMatchObject({ description })
  })

  it('are removed from the list and from those that are shown', async () => {
    const tools = new ToolRegistry(many(3), search)
    expect(tools.remove('t1')).toBe(true)
    expect(tools.remove('t1')).toBe(false)
    expect(tools.names()).toEqual(['t0', 't2'])
    expect(namesOf(await tools.definitions())).toEqual(['t0', 't2'])
    expect(namesOf(tools.known())).toEqual(['t0', 't2'])
  })

  it('are removed together, and unknown names have no effect', async () => {
    const tools = new ToolRegistry(many(4), search)
    const before = await tools.definitions()
    tools.removeAll(['none'])
    expect(await tools.definitions()).toBe(before)
    tools.removeAll(['t3', 'none', 't1'])
    expect(tools.names()).toEqual(['t0', 't2'])
    expect(namesOf(await tools.definitions())).toEqual(['t0', 't2'])
  })

  it('include those whose definition is asynchronous, once it was read', async () => {
    const tools = new ToolRegistry([slow('s', async () => 'is slow')], search)
    expect(tools.known()).toEqual([])
    expect((await tools.definitions())[0]).toMatchObject({ name: 's', description: 'is slow' })
    expect(namesOf(tools.known())).toEqual(['s'])
  })

  it('are returned as the replacement, also when it replaces one whose definition is being read', async () => {
    let answer: (text: string) => void = () => undefined
    let begun: () => void = () => undefined
    const asked = new Promise<void>((resolve) => {
      begun = resolve
    })
    const old = slow('s', () => {
      begun()
      return new Promise<string>((resolve) => {
        answer = resolve
      })
    })
    const tools = new ToolRegistry([old], search)
    const telling = tools.definitions()
    await asked
    tools.add(slow('s', async () => 'new'))
    answer('old')
    expect((await telling)[0]?.description).toBe('new')
    expect((await tools.definitions())[0]?.description).toBe('new')
  })

  it('that are dormant can be called by the host, and are neither shown nor found until they are offered', async () => {
    const [one, two] = many(2) as [AnyTool, AnyTool]
    const tools = new ToolRegistry([one, two], search, [one])
    expect(tools.get('t0')).toBe(one)
    expect(namesOf(await tools.definitions())).toEqual(['t1'])
    expect(tools.hidden()).toEqual([])
    tools.offer(['t0'])
    expect(namesOf(await tools.definitions())).toEqual(['t1', 't0'])
  })

  it('are offered when another tool replaces a dormant one', () => {
    const [one] = many(1) as [AnyTool]
    const tools = new ToolRegistry([one], search, [one])
    tools.add(tool('t0', 'a better one'))
    expect(tools.isShown('t0')).toBe(true)
  })

  it('are not confused with those of a session with other dormant tools', () => {
    const [one] = many(1) as [AnyTool]
    expect(new ToolRegistry([one], search, [one]).isShown('t0')).toBe(false)
    expect(new ToolRegistry([one], search).isShown('t0')).toBe(true)
  })

  it('of a server are shown when all of them fit, and otherwise all are found by search in their whole definition', async () => {
    const tools = new ToolRegistry(many(15), search, [], limits)
    tools.addAll(['a', 'b'].map((name) => tool(name, name)))
    expect(namesOf(await tools.definitions()).slice(15)).toEqual(['a', 'b'])
    const full = { ...tool('c', 'all of it'), definition: () => tool('c', 'all').definition('') }
    tools.addAll([full, ...['d', 'e', 'f'].map((name) => tool(name, name))])
    expect(namesOf(await tools.definitions()).slice(15)).toEqual(['a', 'b', search.name])
    expect(tools.hidden().map(({ name, description }) => [name, description])).toEqual([
      ['c', 'all of it'],
      ['d', 'd'],
      ['e', 'e'],
      ['f', 'f'],
    ])
    tools.addAll([tool('a', 'another')])
    expect(namesOf(await tools.definitions()).slice(15)).toEqual(['a', 'b', search.name])
  })
})
