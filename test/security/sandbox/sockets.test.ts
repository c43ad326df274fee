import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLocalShell, type LocalShell } from '../../../src/workspace/shell/local-shell.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'
import { workerLedger } from '../../support/worker-ledger.js'
import { describeWithBubblewrap } from './support/needs-bubblewrap.js'

let place: string
let root: string
let shell: LocalShell
const servers: { close(): Promise<void> }[] = []
beforeEach(() => {
  place = temporaryDirectory()
  root = join(place, 'work')
  mkdirSync(join(root, 'a/b/c/d/e/node_modules'), { recursive: true })
  shell = createLocalShell({
    root,
    ledgerDir: workerLedger,
    sandbox: 'required',
    // Node may be installed in a place that the sandbox hides, such as below the temporary directory.
    sandboxOptions: { readOnly: [dirname(process.execPath)] },
  })
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
  await shell.close()
})

/** A server of the host that binds by a name relative to its directory, and may rename the file afterwards. */
async function serve(cwd: string, name: string, renamed?: string): Promise<void> {
  const script = `const { renameSync } = require('fs'); require('net').createServer((s) => s.end('HOST')).listen(process.argv[1], () => {
    if (process.argv[2]) renameSync(process.argv[1], process.argv[2]); console.log('up') })`
  const child = spawn(process.execPath, ['-e', script, name, ...(renamed === undefined ? [] : [renamed])], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  servers.push({
    async close() {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  })
  await once(child.stdout, 'data')
}

const connect = (path: string): string =>
  `'${process.execPath}' -e "const c = require('net').connect('${path}'); c.on('data', (d) => console.log(String(d))).on('error', (e) => console.log(e.code))"`

describeWithBubblewrap('Unix sockets in a workspace', () => {
  it('of the host are not accessible: bound by a relative name, renamed, deep, in a further directory', async () => {
    await serve(root, 'relative.sock')
    await serve(join(root, 'a/b/c/d/e'), '../e/deep.sock')
    await serve(root, 'before.sock', 'renamed.sock')
    await serve(join(root, 'a'), join(root, 'absolute.sock'), 'b/moved.sock')
    await serve(join(root, 'a/b/c/d/e/node_modules'), 'x.sock', 'y.sock')
    const paths = ['relative.sock', 'a/b/c/d/e/deep.sock', 'renamed.sock', 'a/b/moved.sock']
    paths.push('a/b/c/d/e/node_modules/y.sock')
    const { output } = await shell.run(
      `${paths.map(connect).join('\n')}\nfor s in ${paths.join(' ')}; do [ -S $s ] && echo "socket $s"; done; true`,
    )
    expect(output).not.toContain('HOST')
    expect(output).not.toContain('socket ')
    expect(output.match(/^E[A-Z]+$/gm)).toHaveLength(paths.length)
  })

  it('that commands create themselves work, in one command and between commands', async () => {
    const server = (name: string): string =>
      `'${process.execPath}' -e "require('net').createServer((s) => s.end('OWN')).listen('${name}', () => console.log('up'))"`
    const inOne = await shell.run(
      `${server('one.sock')} & until [ -S one.sock ]; do sleep 0.05; done; ${connect('one.sock')}; kill %1`,
    )
    expect(inOne.output).toContain('OWN')
    for (const name of ['relative-job.sock', join(root, 'absolute-job.sock')]) {
      const job = await shell.start(server(name))
      await expect.poll(async () => (await shell.readJob(job.id)).text).toBe('up\n')
      expect((await shell.run(connect(name))).output).toContain('OWN')
      await shell.killJob(job.id)
    }
  })
})
