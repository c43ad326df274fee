import { describe, expect, it } from 'vitest'
import { createThinkTool } from './think-tool.js'

describe('createThinkTool', () => {
  it('returns the thought, with the name think', async () => {
    const think = createThinkTool()
    expect(think).toMatchObject({ name: 'think', kind: 'think', requires: {} })
    expect(await think.call({ thought: 'first, look' })).toBe('first, look')
  })

  it('accepts another name and description', async () => {
    expect(await createThinkTool({ name: 'ponder', description: 'Ponder.' }).definition('')).toMatchObject({
      name: 'ponder',
      description: 'Ponder.',
    })
  })

  it('rejects everything except one thought', async () => {
    await expect(createThinkTool().call({} as never)).rejects.toThrow('- thought: required field is missing')
    expect(await createThinkTool().execute({ thought: 'x', more: 1 })).toMatchObject({ type: 'error' })
  })
})
