import { describe, expect, it } from 'vitest'
import { childEnvironment, defaultPath } from './child-env.js'
import { markerValue } from './run-marker.js'

const base = { home: '/h', tmp: '/t', marker: 'm' }

describe('childEnvironment', () => {
  it('is the fixed list by default', () => {
    const { HOME, TMPDIR, PATH, CAPSTAN_RUN_ID, ...rest } = childEnvironment(base)
    expect({ HOME, TMPDIR, PATH, CAPSTAN_RUN_ID }).toEqual({
      HOME: '/h',
      TMPDIR: '/t',
      PATH: defaultPath,
      CAPSTAN_RUN_ID: 'm',
    })
    expect(rest).toMatchObject({ TERM: 'dumb', GIT_TERMINAL_PROMPT: '0', PAGER: 'cat' })
  })

  it('lets the host set the search path and add variables, but not change the home directory', () => {
    const env = childEnvironment({
      ...base,
      path: '/opt/bin',
      extra: { CI: 'true', TERM: 'xterm', HOME: '/root' },
    })
    expect(env).toMatchObject({ PATH: '/opt/bin', CI: 'true', TERM: 'xterm', HOME: '/h' })
  })

  it.each(['BASH_ENV', 'ENV', 'PS4', 'CAPSTAN_RUN_ID', 'a b', '1A', 'A=', 'BASH_FUNC_x%%'])(
    'refuses to pass %s on',
    (name) => {
      expect(() => childEnvironment({ ...base, extra: { [name]: 'x' } })).toThrow(
        expect.objectContaining({ code: 'shell_environment_refused' }),
      )
    },
  )

  it('rejects a value that a process cannot have', () => {
    expect(() => childEnvironment({ ...base, extra: { A: 'x\0y' } })).toThrow(/NUL/)
  })
})

describe('markerValue', () => {
  it('puts only valid identifiers of an outer run in front', () => {
    expect(markerValue('aa', 'bb', undefined)).toBe('aa.bb')
    expect(markerValue('aa', 'bb', 'cc.dd')).toBe('cc.dd:aa.bb')
    expect(markerValue('aa', 'bb', 'evil\nvalue')).toBe('aa.bb')
  })
})
