import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childEnvironment } from '../../shell/child-env.js'
import type { DoctorCheck } from '../doctor-trap.js'
import type { MountlessProfile } from '../mountless.js'
import { realPath } from './confine-seatbelt.js'
import { seatbeltProfile } from './profile.js'

/** The path of the program that starts another one under a profile; a search path could lead to another program. */
export const sandboxExec = '/usr/bin/sandbox-exec'

/**
 * Tries to escape from a profile from inside, with programs that every Mac has, and reports which attempts were
 * blocked. Changes to files are checked by the host afterwards.
 */
export async function seatbeltChecks(program: string = sandboxExec): Promise<DoctorCheck[]> {
  const place = realPath(await realpath(await mkdtemp(join(tmpdir(), 'capstan-seatbelt-'))))
  const reached = { tcp: 0, unix: 0 }
  const servers: Server[] = []
  const listen = async (onConnection: () => void, where: string | number): Promise<Server> => {
    const server = createServer((socket) => {
      onConnection()
      socket.destroy()
    })
    servers.push(server)
    if (typeof where === 'string') server.listen(where)
    else server.listen(where, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  try {
    const grant = await makeGrant(place)
    const tcp = await listen(() => reached.tcp++, 0)
    const proxy = await listen(() => undefined, 0)
    await listen(() => reached.unix++, join(place, 'work/host.sock'))
    const profile = join(place, 'profile.sb')
    await writeFile(profile, seatbeltProfile({ ...grant, proxyPort: portOf(proxy) }), { mode: 0o600 })
    const words = ['-f', profile, '--', '/bin/bash', '--noprofile', '--norc', '-c', script, 'bash']
    const targets = [place, String(process.pid), String(portOf(tcp)), String(portOf(proxy))]
    const { code, output } = await run(program, [...words, ...targets])
    return judge(output.split('\n'), code, reached)
  } finally {
    for (const server of servers) server.close()
    await rm(place, { recursive: true, force: true })
  }
}

async function makeGrant(place: string): Promise<MountlessProfile> {
  const [work, tmp, home] = [join(place, 'work'), join(place, 'tmp'), join(place, 'home')]
  for (const directory of [join(work, '.git/hooks'), tmp, home]) await mkdir(directory, { recursive: true })
  await writeFile(join(place, 'secret'), 'canary\n')
  await writeFile(join(work, 'denied'), 'canary\n')
  return {
    shown: [{ path: work, how: 'writable' }],
    hidden: [],
    pins: [{ path: join(work, '.git'), how: 'read-only' }],
    tmp,
    home,
    masked: [{ kind: 'file', path: join(work, 'denied') }],
    sockets: [join(work, 'host.sock')],
    rules: { names: [{ directory: work, name: '.mcp.json' }], gitRoots: [work] },
  }
}

/**
 * Each line names one thing that could be done; no output before `finished` is the expected result. On a Mac whose
 * sandbox fails, all of it happens: therefore it changes nothing but its own directory.
 */
const script = `
place=$1 host=$2 tcp=$3 proxy=$4 work=$1/work
exec 2>/dev/null
cat "$place/secret" >/dev/null && echo read-outside
ls "$place" >/dev/null && echo list-outside
[ -n "$(ls -A /Users/*/Library)" ] && echo read-home
echo x > "$place/written" && echo write-outside
(: >> /private/etc/hosts) && echo write-outside
ln "$place/secret" "$work/linked" && cat "$work/linked" >/dev/null && echo hard-link
ln -s "$place/secret" "$work/link" && cat "$work/link" >/dev/null && echo symbolic-link
chmod 0600 "$place/secret" && echo change-outside
mv "$place/secret" "$work/taken" && echo change-outside
cat "$work/denied" >/dev/null && echo denied-file
cat "$work/DENIED" >/dev/null && echo denied-file
ln "$work/denied" "$work/other" && cat "$work/other" >/dev/null && echo denied-file
mv "$work/denied" "$work/renamed" && echo denied-file
mkdir -p "$work/a"
for name in .git .GIT; do mkdir "$work/a/$name" && echo control-file; done
mkdir "$work/b" "$work/c" && mv "$work/c" "$work/b/.git" && echo control-file
echo x > "$work/.MCP.json" && echo control-file
echo x > "$work/.git/hooks/post-checkout" && echo control-file
mv "$work/.git" "$work/git" && echo control-file
mv "$work" "$place/tmp/work" && { echo moved-workspace; mv "$place/tmp/work" "$work"; }
kill -0 "$host" && echo signal
ps -p "$host" -o command= | grep -q . && echo process-list
(exec 3<>"/dev/tcp/127.0.0.1/$tcp") && echo tcp
(echo x > "/dev/udp/127.0.0.1/$tcp") && echo udp
nc -U "$work/host.sock" </dev/null && echo unix-socket
launchctl list >/dev/null && echo service
security list-keychains | grep -q . && echo service
(exec 3<>"/dev/tcp/127.0.0.1/$proxy") && echo proxy-reached
echo x > "$work/a/c" && [ "$(cat "$work/a/c")" = x ] && rm "$work/a/c" && echo wrote-inside
/usr/bin/env true && echo ran-program
echo finished
`

function judge(
  said: readonly string[],
  code: number,
  reached: { readonly tcp: number; readonly unix: number },
): DoctorCheck[] {
  const saw = (...words: string[]): string[] => said.filter((line) => words.includes(line))
  const check = (name: string, bad: readonly string[], good: string): DoctorCheck => ({
    check: name,
    held: bad.length === 0,
    detail: bad.length === 0 ? good : [...new Set(bad)].join(', '),
  })
  const missing = ['wrote-inside', 'ran-program', 'proxy-reached', 'finished'].filter(
    (word) => !said.includes(word),
  )
  const unable = missing.length === 0 ? [] : [`${missing.join(', ')} is missing; it ended with ${code}`]
  return [
    check('commands work inside', unable, 'the workspace is writable, and the proxy is reached'),
    check('read a secret', saw('read-outside', 'list-outside', 'read-home'), 'refused'),
    check('write outside the workspace', saw('write-outside', 'change-outside'), 'refused'),
    check('links', saw('hard-link', 'symbolic-link'), 'none leads out'),
    check('files denied by rules', saw('denied-file'), 'refused, under other names too'),
    check('protected paths', saw('control-file', 'moved-workspace'), 'refused, in other spellings too'),
    check('processes of the host', saw('signal', 'process-list'), 'neither signalled nor listed'),
    check(
      'network',
      [...saw('tcp', 'udp'), ...(reached.tcp > 0 ? ['a connection arrived'] : [])],
      'the proxy alone is reached',
    ),
    check(
      'host Unix sockets',
      [...saw('unix-socket'), ...(reached.unix > 0 ? ['a connection arrived'] : [])],
      'no connection is made',
    ),
    check('services of the user', saw('service'), 'launchd and keychains are not reached'),
  ]
}

function portOf(server: Server): number {
  const address = server.address()
  return address !== null && typeof address === 'object' ? address.port : 0
}

function run(file: string, args: readonly string[]): Promise<{ code: number; output: string }> {
  const env = childEnvironment({ home: '/', tmp: '/tmp', marker: 'probe' })
  return new Promise((resolve) => {
    execFile(file, [...args], { env, cwd: '/', timeout: 60_000 }, (error, stdout) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ code, output: stdout })
    })
  })
}
