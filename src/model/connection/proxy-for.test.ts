import { describe, expect, it } from 'vitest'
import { proxyFor } from './proxy-for.js'

const env = { HTTPS_PROXY: 'http://secure.proxy:3128', http_proxy: 'plain.proxy:8080' }
const proxied = (address: string, more: Record<string, string> = {}, configured?: string) =>
  proxyFor(new URL(address), configured, { ...env, ...more })?.host

describe('the proxy of a request', () => {
  it.each([
    ['https://api.example.com/v1', 'secure.proxy:3128'],
    ['http://api.example.com/v1', 'plain.proxy:8080'],
    ['https://127.0.0.1:8443/v1', undefined],
    ['http://localhost:1234/v1', undefined],
    ['http://models.localhost/v1', undefined],
    ['http://[::1]:1234/v1', undefined],
  ])('for %s is %s by the environment', (address, expected) => {
    expect(proxied(address)).toBe(expected)
  })

  it.each([
    ['api.example.com', 'https://api.example.com', false],
    ['API.Example.com.', 'https://api.example.com', false],
    ['example.com', 'https://api.example.com', true],
    ['.example.com', 'https://api.example.com', false],
    ['*.example.com', 'https://a.b.example.com', false],
    ['.example.com', 'https://example.com', false],
    ['.example.com', 'https://badexample.com', true],
    ['api.example.com:8443', 'https://api.example.com:8443', false],
    ['api.example.com:8443', 'https://api.example.com', true],
    ['api.example.com:443', 'https://api.example.com', false],
    ['other.test, 10.1.2.3', 'https://10.1.2.3', false],
    ['10.1.2.3', 'https://10.1.2.30', true],
    ['[2001:db8::1]:8443', 'https://[2001:db8::1]:8443', false],
    ['2001:db8::1', 'https://[2001:db8::1]', false],
    ['other.test *', 'https://api.example.com', false],
    ['', 'https://api.example.com', true],
    [' , ', 'https://api.example.com', true],
  ])('with NO_PROXY %j and %s is used: %s', (list, address, isUsed) => {
    expect(proxied(address, { NO_PROXY: list }) !== undefined).toBe(isUsed)
    expect(proxied(address, { no_proxy: list, NO_PROXY: 'ignored.test' }) !== undefined).toBe(isUsed)
  })

  it('is the configured one for every address, and none when it is off', () => {
    expect(proxied('http://127.0.0.1:1234', { NO_PROXY: '*' }, 'http://own.proxy:1')).toBe('own.proxy:1')
    expect(proxied('https://api.example.com', {}, 'off')).toBeUndefined()
  })

  it.each([['socks5://user:hidden-word@proxy.test:1080'], ['http://user:hidden-word@'], ['http://a b']])(
    'is never bypassed because %s is not a proxy',
    (value) => {
      const failing = () => proxyFor(new URL('https://api.example.com'), undefined, { HTTPS_PROXY: value })
      expect(failing).toThrow(expect.objectContaining({ code: 'model_unavailable' }))
      expect(failing).not.toThrow(/hidden-word/)
    },
  )
})
