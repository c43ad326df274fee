import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { escapeScript } from './escape-script.js'

/** In a new pid namespace, the first command that process 1 starts has this pid. */
const smallPid = 2

const namespace = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc']
const hasNamespaces = spawnSync('unshare', [...namespace, 'true']).status === 0

describe.runIf(hasNamespaces)('the attack on a process of the host', () => {
  it('is tried when its pid is small, as in a container', () => {
    expect(endOfProcess('the start time of the process')).toBe('ended by signal 15')
  })

  it('is not tried on another process that has the same pid in the sandbox', () => {
    expect(endOfProcess('1')).toBe('ended by signal 1')
  })
})

/** Runs the script next to a process with a small pid. Returns how that ended: by signal 1 when nothing attacked it. */
function endOfProcess(startTime: string): string | undefined {
  const place = temporaryDirectory()
  const script = escapeScript({
    place,
    abstract: 'capstan-none',
    bystander: { pid: smallPid, startTime },
    outside: [],
    rootOnly: [],
    tcpPort: 1,
    udpPort: 1,
    environment: [],
  })
  const commands = `sleep 600 &
read -r stat < /proc/${smallPid}/stat; set -- \${stat##*) }
bash --noprofile --norc -c "\${SCRIPT//the start time of the process/\${20}}" > /dev/null
kill -HUP ${smallPid}; wait ${smallPid}; echo "ended by signal $(($? - 128))"`
  const { stdout } = spawnSync('unshare', [...namespace, 'bash', '--noprofile', '--norc', '-c', commands], {
    cwd: place,
    env: { PATH: process.env['PATH'], SCRIPT: script },
    encoding: 'utf8',
  })
  return stdout.trim().split('\n').at(-1)
}
