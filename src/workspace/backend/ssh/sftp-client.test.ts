import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { openSftp, type SftpClient } from './sftp-client.js'

type Request = { readonly type: number; readonly id: number }

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
const text = (value: string): Buffer => Buffer.concat([number(Buffer.byteLength(value)), Buffer.from(value)])
const packet = (type: number, ...fields: readonly Buffer[]): Buffer => {
  const body = Buffer.concat([Buffer.from([type]), ...fields])
  return Buffer.concat([number(body.length), body])
}
const noAttributes = number(0)
const [handle, data, names] = [102, 103, 104]

/** A client of a server that answers each request as the test says; every file and directory can be opened. */
async function clientOf(
  answer: (request: Request) => Buffer,
  silenceMs?: number,
): Promise<{
  readonly sftp: SftpClient
  readonly requests: Request[]
  readonly output: PassThrough
}> {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const requests: Request[] = []
  input.on('data', (chunk: Buffer) => {
    const [type = 0, id] = [chunk[4], chunk.length > 8 ? chunk.readUInt32BE(5) : 0]
    if (type === 1) return output.write(packet(2, number(3)))
    const request = { type, id }
    requests.push(request)
    // The test fails, and does not ask forever.
    if (requests.length > 50) return output.write(packet(101, number(id), number(1), text('')))
    const isOpen = type === 3 || type === 11
    if (type === 4) return output.write(packet(101, number(id), number(0), text(''), text('')))
    return output.write(isOpen ? packet(handle, number(id), text('h')) : answer(request))
  })
  const sftp = await openSftp(input, output, new Promise<never>(() => undefined), silenceMs)
  return { sftp, requests, output }
}

describe('an SFTP client with a server that does not follow the protocol', () => {
  it('stops reading a file when a part is empty, or longer than requested', async () => {
    for (const part of ['', 'x'.repeat(11)]) {
      const { sftp } = await clientOf(({ id }) => packet(data, number(id), text(part)))
      await expect(sftp.read('/f', 0, 10)).rejects.toMatchObject({ code: 'EPROTO' })
    }
  })

  it('stops listing a directory that has no end', async () => {
    const none = await clientOf(({ id }) => packet(names, number(id), number(0)))
    await expect(none.sftp.list('/d', 10)).rejects.toMatchObject({ code: 'EPROTO' })
    const dot = (id: number) => packet(names, number(id), number(1), text('.'), text('.'), noAttributes)
    const dots = await clientOf(({ id }) => dot(id))
    expect(await dots.sftp.list('/d', 10)).toEqual([])
  })

  it('rejects names that are paths', async () => {
    for (const name of ['../../etc/passwd', 'a/b', '', 'a\0b']) {
      const { sftp } = await clientOf(({ id }) =>
        packet(names, number(id), number(1), text(name), text(name), noAttributes),
      )
      await expect(sftp.list('/d', 10)).rejects.toMatchObject({ code: 'EPROTO' })
    }
  })

  it('reads nothing more after an answer that it cannot parse', async () => {
    const { sftp, output } = await clientOf(() => number(0xffff_ffff))
    await expect(sftp.lstat('/f')).rejects.toMatchObject({ code: 'EPROTO' })
    expect(output.destroyed).toBe(true)
    await expect(sftp.lstat('/f')).rejects.toMatchObject({ code: 'EPROTO' })
  })

  it('disconnects from a server that does not answer, and rejects pending and later requests', async () => {
    const { sftp, output } = await clientOf(() => Buffer.alloc(0), 50)
    const unreachable = { code: 'backend_unreachable' }
    await expect(Promise.all([sftp.lstat('/f'), sftp.lstat('/g')])).rejects.toMatchObject(unreachable)
    expect(output.destroyed).toBe(true)
    await expect(sftp.lstat('/f')).rejects.toMatchObject(unreachable)
  })

  it('disconnects from a server that sends no greeting', async () => {
    const opened = openSftp(new PassThrough(), new PassThrough(), new Promise<never>(() => undefined), 50)
    await expect(opened).rejects.toMatchObject({ code: 'backend_unreachable' })
  })
})
