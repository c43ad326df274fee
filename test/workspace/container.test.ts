import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createContainerBackend } from '../../examples/container/container-backend.mjs'
import { checkWorkspaceBackend } from '../../src/testing/index.js'
import { openBackendWorkspace } from '../../src/workspace/backend/open-backend.js'
import { hasContainer, makeContainer } from '../support/container.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

const timeout = 300_000

describe.runIf(hasContainer)('the example of a backend in a container', () => {
  it('satisfies the kit, with commands and links', { timeout }, async () => {
    let directory = ''
    const problems = await checkWorkspaceBackend(
      () => {
        directory = temporaryDirectory()
        return makeContainer(directory)
      },
      { makeLink: (_, path, target) => symlinkSync(target, join(directory, path)), commands: true },
    )
    expect(problems).toEqual([])
  })

  it('runs commands in the container and not on this machine', { timeout }, async () => {
    const directory = temporaryDirectory()
    const workspace = await openBackendWorkspace(makeContainer(directory), { sandbox: 'required' })
    const outside = temporaryDirectory()
    const { output, sandbox } = await workspace.shell.run(
      `pwd; ls ${outside} 2>&1 || echo no such place; echo x > made`,
    )
    expect(output).toMatch(/^\/workspace\n[\s\S]*no such place\n$/)
    expect(sandbox).toBe('container')
    expect(existsSync(join(directory, 'made'))).toBe(true)
    await workspace.close()
  })
})

describe('the example of a backend with a hostile container', () => {
  const answering = (script: string) =>
    createContainerBackend({ root: '/workspace', start: [process.execPath, '-e', script] })
  const each = (answer: string): string =>
    `require('readline').createInterface({ input: process.stdin }).on('line', (line) => { const { id, op } = JSON.parse(line); ${answer} })`

  it.each([
    ['text that is not JSON', `console.log('}{')`],
    ['JSON that is not an object', `console.log('null')`],
    ['an end in the middle', 'process.exit(0)'],
  ])('fails the call, and not this process, for %s', async (_, answer) => {
    const opened = await answering(each(answer)).open({ onNotice: () => undefined })
    await expect(opened.fileSystem.lstat('/workspace/a')).rejects.toThrow('has ended')
    await expect(opened.fileSystem.lstat('/workspace/a')).rejects.toThrow('has ended')
    await opened.close()
  })

  it('rejects names that are paths', async () => {
    const names = `console.log(JSON.stringify({ id, value: [{ name: '../../etc/passwd', kind: 'file' }] }))`
    const opened = await answering(each(names)).open({ onNotice: () => undefined })
    await expect(opened.fileSystem.list('/workspace', 10)).rejects.toMatchObject({ code: 'EPROTO' })
    await opened.close()
  })
})
