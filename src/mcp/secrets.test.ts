import { expect, it } from 'vitest'
import { redactorFor } from './secrets.js'
import { readServer } from './server-options.js'

it.each([
  [{ command: 'x', env: { A: 'hunter2hunter2', B: '1' } }, 'A=hunter2hunter2 B=1', 'A=[hidden] B=1'],
  [
    { command: 'x', args: ['--api-key', 'abcdef123', 'src/main.ts'] },
    'bad abcdef123 in src/main.ts',
    'bad [hidden] in src/main.ts',
  ],
  [{ command: 'x', args: ['--auth-token=abcdef123'] }, 'abcdef123', '[hidden]'],
  [
    { url: 'https://h.test/?key=abcdef123', headers: { authorization: 'Bearer zyxwvu987' } },
    'zyxwvu987 abcdef123',
    '[hidden] [hidden]',
  ],
  [{ url: 'https://h.test/', oauth: { clientSecret: 'abcdef123' } }, 'abcdef123', '[hidden]'],
])('redacts the secret in %j', (server, text, shown) => {
  expect(redactorFor(readServer({ name: 'x', ...server }))(text)).toBe(shown)
})
