import { describe, expect, it } from 'vitest'
import { openPlace } from '../../test/cli/drive.js'

describe('the hints of the command', () => {
  it('names the flag that allows more rounds when a run has used all of them', async () => {
    const place = await openPlace()
    const { flags } = await place.model(() => ({ toolCalls: [{ name: 'ls', args: {} }] }))
    const { code, stderr } = await place.run(['run', ...flags, '--max-rounds', '1', 'Go'])
    expect(code).toBe(4)
    expect(stderr).toContain('hint: Allow more rounds with --max-rounds N.')
  })

  it('names the flag for another directory when a call is outside the grant', async () => {
    const place = await openPlace()
    const { flags } = await place.model([
      { toolCalls: [{ name: 'read', args: { file_path: '/elsewhere/a.txt' } }] },
      'I could not.',
    ])
    const { code, stderr } = await place.run(['run', ...flags, 'Go'])
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'hint: a session works in its own directory; use -C DIR to work in another\n',
    })
  })
})
