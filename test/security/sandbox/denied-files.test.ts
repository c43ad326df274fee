import { linkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openSession, writeFiles } from '../../contract/open-session.js'
import { describeWithBubblewrap } from './support/needs-bubblewrap.js'
import { runAsModel } from './support/session.js'

const secret = 'canary-denied-4711'
const policy = { permissionPolicy: { allow: ['bash(*)'], deny: ['read(**/.env*)', 'read(private/**)'] } }

/** Tries readers that no list has, in a script, so that no command names the file. */
const readers = `#!/bin/bash
for f in $(find . -name '.env*' -o -path './private/*' -o -name 'other-name' -o -name 'link'); do
  for r in cat fmt pr expand ptx ul 'xz -c' 'gzip -c' 'head -c 99' 'od -c' 'base64' 'dd status=none if=/dev/stdin' 'sort' 'tac' 'strings' 'cpp -P' 'perl -pe 1' 'bash -v'; do
    $r "$f" 2>/dev/null; $r 2>/dev/null < "$f"; done
  cp "$f" copied 2>/dev/null && cat copied; ln "$f" linked 2>/dev/null && cat linked; mv "$f" moved 2>/dev/null && cat moved
  chmod 644 "$f" 2>/dev/null; umount "$f" 2>/dev/null; perl -e 'open(F, "<", $ARGV[0]) and print <F>' "$f"
  exec 9<"$f" && cat <&9; mapfile -t a < "$f"; echo "\${a[@]}"; tar -cf - "$f"; done 2>/dev/null
grep -rsh canary . | head; tar -cf - . 2>/dev/null | tr -d '\\0' | grep -a canary
`

const files = {
  '.env': secret,
  '.env.local': secret,
  'app/.env': secret,
  'a/b/c/d/e/f/g/h/.env.production': secret,
  'node_modules/x/y/.env': secret,
  'private/deep/key.txt': secret,
  'open.txt': 'plain',
  'read.sh': readers,
}

describeWithBubblewrap('files that a rule denies reading', () => {
  it('are read by no command of a model, whatever reads them and however deep they are', async () => {
    const { outputs } = await runAsModel(['bash read.sh; cat open.txt'], policy, files)
    expect(outputs[0]).toContain('plain')
    expect(outputs[0]).not.toContain(secret)
  })

  it('are found when they are created between two commands, by the model, a command or the user', async () => {
    const { session, root, server } = await openSession(
      (_request, n) => {
        if (n === 0)
          return { toolCalls: [{ name: 'bash', args: { command: 'mkdir -p new/deep; echo made' } }] }
        if (n === 1) {
          writeFileSync(join(root, 'new/deep/.env.staging'), secret)
          return { toolCalls: [{ name: 'bash', args: { command: 'bash read.sh; echo looked' } }] }
        }
        return 'done'
      },
      { sandbox: 'required', onAsk: () => ({ decision: 'once' }), ...policy },
      { 'read.sh': readers },
    )
    await session.send('go')
    const said = JSON.stringify(server.requests.at(-1)?.body)
    expect(said).toContain('looked')
    expect(said).not.toContain(secret)
  })

  it('are hidden under their other names too: hard links and targets of links', async () => {
    const { session, root } = await openSession(
      ['done'],
      { sandbox: 'required', ...policy },
      {
        '.env': secret,
        'read.sh': readers,
        'conf/real': secret,
      },
    )
    linkSync(join(root, '.env'), join(root, 'other-name'))
    symlinkSync('conf/real', join(root, '.env.link'))
    const output = await session.bash('bash read.sh; cat other-name conf/real; echo looked')
    expect(output).toContain('looked')
    expect(output).not.toContain(secret)
  })

  it('are hidden under their other names when a rule denies their directory', async () => {
    const { session, root } = await openSession(
      ['done'],
      {
        sandbox: 'required',
        permissionPolicy: { allow: ['bash(*)'], deny: ['read(vault/**)', 'read(safe)'] },
      },
      { 'vault/deep/key': secret, 'safe/deep/key': secret },
    )
    linkSync(join(root, 'vault/deep/key'), join(root, 'of-vault'))
    linkSync(join(root, 'safe/deep/key'), join(root, 'of-safe'))
    const output = await session.bash('cat vault/deep/key of-vault; cat safe/deep/key of-safe; echo looked')
    expect(output).toContain('looked')
    expect(output).not.toContain(secret)
  })

  it('stay hidden from the commands of the host', async () => {
    const { session } = await openSession(['done'], { sandbox: 'required', ...policy }, files)
    const output = await session.bash('bash read.sh; echo looked')
    expect(output).toContain('looked')
    expect(output).not.toContain(secret)
  })

  it('stop the command when there are more than can be hidden, with a message that says what to do', async () => {
    const many = Object.fromEntries(Array.from({ length: 1100 }, (_, n) => [`d/.env${n}`, secret]))
    const { outputs } = await runAsModel(['bash read.sh'], policy, { 'read.sh': readers })
    expect(outputs[0]).not.toContain(secret)
    const { session, root } = await openSession(['done'], { sandbox: 'required', ...policy }, {})
    await writeFiles(root, many)
    await expect(session.bash('cat d/.env1')).rejects.toThrow(/Deny the directories/)
  })
})
