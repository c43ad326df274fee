import { describe, expect, it } from 'vitest'
import { followRedirect, type HopRequest } from './redirect.js'

const here = new URL('https://a.example/x')
const request: HopRequest = {
  method: 'POST',
  headers: {
    accept: 'text/html',
    'accept-encoding': 'gzip',
    authorization: 'secret',
    cookie: 'c=1',
    'x-api-key': 'k',
    'content-type': 'text/plain',
  },
  body: new Uint8Array([1]),
}

describe('followRedirect', () => {
  it.each([[200], [300], [304], [305]])('does not follow status %i', (status) => {
    expect(followRedirect(here, status, '/y', request)).toBeUndefined()
  })

  it('does not follow a redirect without a location', () => {
    expect(followRedirect(here, 302, undefined, request)).toBeUndefined()
  })

  it.each([
    [301, 'POST', 'GET', false],
    [302, 'POST', 'GET', false],
    [303, 'POST', 'GET', false],
    [307, 'POST', 'POST', true],
    [308, 'POST', 'POST', true],
    [301, 'PUT', 'PUT', true],
    [302, 'PUT', 'PUT', true],
    [303, 'PUT', 'GET', false],
    [303, 'HEAD', 'HEAD', true],
    [303, 'GET', 'GET', true],
  ])('after %i a %s becomes %s (body kept: %s)', (status, method, after, kept) => {
    const next = followRedirect(here, status, '/y', { ...request, method })
    expect(next?.target).toBe('https://a.example/y')
    expect(next?.request.method).toBe(after)
    expect(next?.request.body).toEqual(kept ? request.body : undefined)
    expect(next?.request.headers['content-type']).toBe(kept ? 'text/plain' : undefined)
    expect(next?.request.headers['authorization']).toBe('secret')
  })

  it.each([
    ['https://b.example/'],
    ['https://a.example:8443/'],
    ['//b.example/'],
    ['https://a.example.b.example/'],
  ])('sends neither credentials nor body to %s', (location) => {
    const next = followRedirect(here, 302, location, request)
    expect(next?.request).toEqual({
      method: 'GET',
      headers: { accept: 'text/html', 'accept-encoding': 'gzip' },
      body: undefined,
    })
  })

  it.each([[307], [308]])('refuses to repeat a POST at another origin (%i)', (status) => {
    expect(() => followRedirect(here, status, 'https://b.example/', request)).toThrow('another origin')
  })

  it('refuses a redirect from https to http, and allows the opposite', () => {
    expect(() => followRedirect(here, 302, 'http://a.example/', request)).toThrow('https to http')
    const up = followRedirect(new URL('http://a.example/'), 302, 'https://a.example/', request)
    expect(up?.target).toBe('https://a.example/')
  })

  it('reports a location that is not a URL', () => {
    expect(() => followRedirect(here, 302, 'http://[', request)).toThrow('not a URL')
  })
})
