import { expect, it } from 'vitest'
import { hasPassword } from './password-in.js'

it.each([
  'the database is at postgres://app:s3cret-pw@db.internal:5432/app',
  'redis://:hunter2@localhost',
  'log in with password=hunter2',
  'DB_PASSWORD: "tr0ub4dor&3"',
  '{"accessToken": "a1b2c3d4e5f6"}',
  'export API_KEY=9f8e7d6c5b4a',
])('finds a password in: %s', (text) => {
  expect(hasPassword(text)).toBe(true)
})

it.each([
  'postgres://app:$DB_PASSWORD@db.internal/app',
  'https://user:****@example.test/',
  'https://example.test:8443/a@b',
  'password: required, at least 12 characters',
  'the token: {{token_1}}',
  'const token = process.env.TOKEN_2',
  'tokens: 120000, token: 120000',
  'secret: rotate(key1)',
  'ask for the password on port 5433',
])('finds no password in: %s', (text) => {
  expect(hasPassword(text)).toBe(false)
})

it('takes time in proportion to the text', () => {
  for (const part of ['password=', '://a:', 'token: a', '://', 'secret:1'])
    hasPassword(part.repeat(16_384 / part.length))
})
