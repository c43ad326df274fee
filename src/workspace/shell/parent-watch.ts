import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

export type ParentWatch = { close(): Promise<void> }
export type WatchOptions = {
  readonly file: string
  readonly token: string
  readonly privateDirectory: string
  /** The number in the marks of its processes. */
  readonly mark: number | undefined
}

/**
 * Starts one small process per host that ends what the host leaves running, even if the host is killed with SIGKILL: it
 * reads from a pipe that only the host has open, and the pipe ends when the host dies. It runs in its own session, so a
 * signal to the host's group or a closed terminal does not end it. Commands have no additional cost.
 */
export function startParentWatch(options: WatchOptions): ParentWatch {
  let closing = false
  let restarts = 0
  let watcher = start()

  function start(): ChildProcess {
    const child = spawn(
      '/bin/sh',
      [
        '-c',
        script,
        'capstan-watch',
        options.file,
        options.token,
        options.privateDirectory,
        String(options.mark ?? ''),
      ],
      {
        cwd: '/',
        // Without the marker: the watcher must not find itself.
        env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
        detached: true,
        stdio: ['pipe', 'ignore', 'ignore'],
      },
    )
    // It must not keep a host alive that has nothing else to do.
    child.unref()
    if (child.stdin !== null) {
      unref(child.stdin)
      child.stdin.on('error', ignoreBrokenPipe)
    }
    child.once('exit', () => {
      // The watcher was killed: the host is unprotected until a new one runs.
      if (!closing && restarts++ < 20) watcher = start()
    })
    child.once('error', ignoreBrokenPipe)
    return child
  }

  return {
    async close() {
      closing = true
      if (watcher.exitCode !== null || watcher.signalCode !== null || watcher.pid === undefined) return
      watcher.ref()
      const gone = once(watcher, 'exit')
      watcher.stdin?.end('bye\n')
      await gone
    },
  }
}

function unref(stream: object): void {
  if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
}

/** The exit handler restarts a watcher that did not start or has ended; the next start sweeps the ledger anyway. */
function ignoreBrokenPipe(_error: Error): void {
  return
}

/**
 * Plain sh and grep, because Node takes 40 MB and may be what is failing. Finds the same processes as `findMembers`:
 * those that have the token or the mark, those in the recorded groups (checked by start time), and all their
 * descendants; kills until none is left.
 */
const script = `
file=$1 token=$2 private=$3 mark=$4
trap '' HUP INT TERM QUIT PIPE
while read -r word; do [ "$word" = bye ] && exit 0; done

fields() { # of /proc/$1/stat: state ppid pgrp threads start
  read -r line 2>/dev/null < "/proc/$1/stat" || return 1
  rest=\${line##*) }
  [ "$rest" != "$line" ] || return 1
  set -- $rest
  state=$1 ppid=$2 pgrp=$3 threads=\${18}
  shift 19
  start=$1
}

groups=' '
while read -r kind pid began; do
  [ "$kind" = group ] || continue
  if fields "$pid" && [ "$start" != "$began" ]; then continue; fi
  groups="$groups$pid "
done < "$file"

# A process whose first thread has ended looks like one that was killed and is not reaped yet.
alive() {
  fields "$1" || return 1
  case $state in Z|X) [ "$threads" -gt 1 ] ;; esac
}

marked() {
  found=' '
  for path in $(grep -lsF -- "$token" /proc/[0-9]*/environ); do
    path=\${path#/proc/}
    found="$found\${path%/environ} "
  done
  for path in $(grep -lsE '^State:[[:space:]]+Z' /proc/[0-9]*/status); do
    path=\${path%/status}
    grep -qsF -- "$token" "$path"/task/[0-9]*/environ && found="$found\${path#/proc/} "
  done
  [ -n "$mark" ] || return 0
  for path in $(grep -lsE -- "^Max file locks +$mark[0-9]{6} " /proc/[0-9]*/limits); do
    path=\${path#/proc/} path=\${path%/limits}
    alive "$path" || continue
    case $found in *" $path "*) ;; *) found="$found$path " ;; esac
  done
}

end() {
  kill -9 $found 2>/dev/null
  for pid in $groups; do kill -9 -- "-$pid" 2>/dev/null; done
}

# Who descends from whom can only be seen before anyone is killed.
table=
for path in /proc/[0-9]*; do
  pid=\${path#/proc/}
  alive "$pid" && table="$table $pid:$ppid:$pgrp"
done
marked
grew=1
while [ $grew = 1 ]; do
  grew=0
  for entry in $table; do
    pid=\${entry%%:*} pgrp=\${entry##*:} ppid=\${entry#*:}
    case $found in *" $pid "*) continue ;; esac
    case $groups in *" $pgrp "*) found="$found$pid " grew=1; continue ;; esac
    case $found in *" \${ppid%%:*} "*) found="$found$pid " grew=1 ;; esac
  done
done
end

# What forked in the meantime carries the token or the mark too.
round=0
while [ $round -lt 200 ]; do
  round=$((round + 1))
  marked
  [ "$found" = ' ' ] && break
  end
  # A process in the middle of a system call ends a little later.
  [ $round -lt 3 ] || sleep 0.01 2>/dev/null || sleep 1
done

others=$(dirname "$file")
while read -r kind type path; do
  [ "$kind" = stub ] || continue
  grep -lsxF -- "stub $type $path" "$others"/*.ledger | grep -qvxF -- "$file" && continue
  case $type in
    d) rmdir -- "$path" 2>/dev/null ;;
    f)
      content=
      case $path in */commondir) content=. ;; esac
      [ ! -s "$path" ] || [ "$content" = . -a "$(cat -- "$path")" = . ] && rm -f -- "$path" ;;
  esac
done < "$file"
rm -rf -- "$private"
rm -f -- "$file" "$file.new"
`
