import { describe, expect, it } from 'vitest'
import { openPlace } from '../../test/cli/drive.js'
import { toCliWording } from './cli-wording.js'

describe('what the command says', () => {
  it.each([
    [
      'no rule covers running "ls", and what no rule covers is asked about (permissionPolicy.defaultDecision)',
      'no rule covers running "ls"',
    ],
    [
      'Writing "/x" is outside the grant: it grants only "/w/**". To change that, extend `fs.write` in the `requires` of the manifest or of a tool.',
      'Writing "/x" is outside the grant: it grants only "/w/**". A session works in its directory alone; -C DIR works in another.',
    ],
    [
      'The run took longer than 1000 ms (maxExecutionTimeMs) and was stopped.',
      'The run took longer than 1000 ms (--timeout) and was stopped.',
    ],
    ['Raise maxToolRounds, or ask for less.', 'Raise --max-rounds, or ask for less.'],
    ['nothing of the kind', 'nothing of the kind'],
  ])('names its own flags: %j', (theirs, ours) => {
    expect(toCliWording(theirs)).toBe(ours)
  })

  it('is told so by what really happens', async () => {
    const place = await openPlace()
    const ls = { name: 'ls', args: {} }
    const { flags } = await place.model(() => ({ toolCalls: [ls] }))
    const rounds = await place.run(['run', ...flags, '--max-rounds', '1', 'Go'])
    expect(rounds).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('Raise --max-rounds, or ask for less'),
    })
    const outside = await place.model([
      { toolCalls: [{ name: 'read', args: { file_path: '/elsewhere/a.txt' } }] },
      'I could not.',
    ])
    const { code, stderr } = await place.run(['run', ...outside.flags, 'Go'])
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'hint: a session works in its directory alone; -C DIR works in another\n',
    })
  })
})
