import type { BackendCommand } from '../backend.js'
import { WorkspaceBackendError } from '../errors.js'

/**
 * The script that runs on the host for each command. It reads the program and a token from its input, starts the
 * program in its own session (`setsid`), and ends all its processes when the program or the input has ended. Processes
 * that left the session are found by the token in their environment, where `/proc` exists: a process whose first thread
 * has ended looks like a zombie, and only its other threads have an environment.
 */
export const remoteCommand = `exec /bin/bash --noprofile --norc -c '${script()}'`

function script(): string {
  return `
IFS= read -r program && IFS= read -r token || exit 125
program=$(printf %s "$program" | base64 -d) || exit 125
exec 3<&0 </dev/null
CAPSTAN_RUN=$token setsid /bin/bash --noprofile --norc /dev/fd/4 4<<<"$program" 3<&- 2>&1 &
child=$!
gone=
trap "gone=1" USR1
( while IFS= read -r -n 1 -u 3 _; do :; done; kill -USR1 $$ ) >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait $child
code=$?
while [ -z "$gone" ] && kill -0 $child 2>/dev/null; do wait $child; code=$?; done
trap "" USR1
kill $watcher 2>/dev/null
kill -TERM -- -$child 2>/dev/null
if [ -n "$gone" ]; then
  for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 -- -$child 2>/dev/null || break; sleep 0.1; done
fi
kill -KILL -- -$child 2>/dev/null
for _ in 1 2 3; do
  left=$(grep -lzsx "CAPSTAN_RUN=$token" /proc/[0-9]*/environ)
  ended=$(grep -lsE "^State:[[:space:]]+Z" /proc/[0-9]*/status)
  left="$left $(grep -lzsx "CAPSTAN_RUN=$token" \${ended//status/task/[0-9]*/environ})"
  left=$(for path in $left; do path=\${path#/proc/}; echo "\${path%%/*}"; done)
  [ -n "$left" ] || break
  kill -KILL $left 2>/dev/null
done
exit $code
`.trim()
}

/** Encodes a command as one line for the input of the remote command. */
export function remoteProgram({ argv, cwd, env }: BackendCommand): string {
  const words = [...argv, cwd, ...Object.values(env)]
  if (words.some((word) => word.includes('\0')))
    throw new WorkspaceBackendError(
      'backend_invalid',
      'The command holds a NUL character, which no shell can read. Remove it.',
    )
  const variables = Object.entries(env).map(([name, value]) => `export ${name}=${quoted(value)}`)
  // The program is read from a descriptor: if it were an argument, every user of the host could see its variables.
  const lines = [
    'exec 4<&-',
    ...variables,
    `cd -- ${quoted(cwd)} || exit 126`,
    `exec ${argv.map(quoted).join(' ')}`,
  ]
  return Buffer.from(lines.join('\n')).toString('base64')
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
