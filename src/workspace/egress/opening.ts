import type { Duplex } from 'node:stream'
import { type ClientHello, maxHelloBytes, readClientHello } from './client-hello.js'

/** The protocol that a client starts a connection with. The bytes that were read are put back into the stream. */
export type Opening =
  | { readonly kind: 'tls'; readonly hello: ClientHello }
  | { readonly kind: 'http' }
  | { readonly kind: 'other' }

/** Reads the beginning of a connection until its protocol is known; undefined when it ends before that. */
export function readOpening(client: Duplex, head: Buffer): Promise<Opening | undefined> {
  return new Promise((resolve) => {
    let bytes: Buffer = head
    const settle = (opening: Opening | undefined): void => {
      client.off('data', onData)
      client.off('end', onEnd)
      client.off('close', onEnd)
      client.pause()
      if (bytes.length > 0 && !client.destroyed) client.unshift(bytes)
      resolve(opening)
    }
    const onEnd = (): void => settle(undefined)
    const onData = (more: Buffer): void => {
      bytes = Buffer.concat([bytes, more])
      const opening = recognise(bytes)
      if (opening !== undefined) settle(opening)
    }
    const first = recognise(bytes)
    if (first !== undefined) return settle(first)
    client.on('data', onData)
    client.once('end', onEnd)
    client.once('close', onEnd)
    client.resume()
  })
}

const maxLineBytes = 8_192

function recognise(bytes: Buffer): Opening | undefined {
  if (bytes.length === 0) return undefined
  if (bytes[0] === 0x16) {
    const hello = readClientHello(bytes)
    if (hello === 'more' && bytes.length < maxHelloBytes) return undefined
    return typeof hello === 'string' ? { kind: 'other' } : { kind: 'tls', hello }
  }
  const start = bytes.toString('latin1', 0, maxLineBytes)
  const [line = ''] = start.split('\n', 1)
  // HTTP and other protocols begin with a word in capital letters: the end of the line decides which it is.
  if (!/^[A-Z]+(?: |$)/.test(line)) return { kind: 'other' }
  if (line.length === start.length && start.length < maxLineBytes) return undefined
  return / HTTP\/1\.[01]\r?$/.test(line) ? { kind: 'http' } : { kind: 'other' }
}
