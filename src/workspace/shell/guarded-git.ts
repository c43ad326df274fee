/**
 * The arguments of a shell that runs a command in which git starts no program that the repository names, and works on no other tree
 * than the one the repository lies in. What git is told here is told in its environment, where it outranks every configuration file
 * (SEC-095, SEC-097); in front of that comes no more than reading the configuration. Fails closed when git does not listen.
 */
export function guardedGit(command: string): readonly string[] {
  return ['/bin/bash', '--noprofile', '--norc', '-c', script(), 'guarded-git', command]
}

/** What is told to git, whatever the repository says. */
const settings: readonly (readonly [key: string, value: string])[] = [
  // First: that it took effect is what the script checks.
  ['core.hooksPath', '/dev/null'],
  // Empty, not `false`: older versions take any text for a program.
  ['core.fsmonitor', ''],
  ['core.pager', 'cat'],
  ['core.editor', 'true'],
  ['core.askPass', ''],
  ['core.sshCommand', 'false'],
  ['core.gitProxy', ''],
  ['credential.helper', ''],
  ['gpg.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.x509.program', 'false'],
  ['log.showSignature', 'false'],
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  // A submodule has filters of its own, which are not known here.
  ['submodule.recurse', 'false'],
  ['status.submoduleSummary', 'false'],
  ['diff.submodule', 'short'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  // A directory of the project that only looks like a repository is none.
  ['safe.bareRepository', 'explicit'],
  ['core.protectHFS', 'true'],
  ['core.protectNTFS', 'true'],
  ['color.ui', 'false'],
  ['core.quotePath', 'false'],
  ['i18n.logOutputEncoding', 'UTF-8'],
]

const variables: Readonly<Record<string, string>> = {
  // A partial clone fetches what it lacks, by programs that the repository names.
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_ATTR_NOSYSTEM: '1',
}

function script(): string {
  const exported = Object.entries(variables).map(([name, value]) => `export ${name}=${value}`)
  const told = settings.map(([key, value]) => `tell ${key} '${value}'`)
  return `
fail() { printf 'fatal: %s\\n' "$1" >&2; exit 128; }
command -v git >/dev/null || fail 'git is not installed'
count=0
tell() {
  export "GIT_CONFIG_KEY_$count=$1" "GIT_CONFIG_VALUE_$count=$2"
  count=$((count + 1))
  export GIT_CONFIG_COUNT=$count
}
${[...exported, ...told].join('\n')}

# Filters go by names of their own, so they can only be switched off by name.
mapfile -d '' -t known < <(git config --null --get-regexp '^(core\\.hookspath|filter\\..*)$')
heard=
for entry in "\${known[@]}"; do
  key=\${entry%%$'\\n'*}
  case $key in
    core.hookspath) heard=\${entry#*$'\\n'} ;;
    filter.*.required) tell "$key" false ;;
    filter.*) tell "$key" '' ;;
  esac
done
[ "$heard" = /dev/null ] || fail 'this git cannot be kept from running what a repository names (it takes 2.31 or newer)'

# core.worktree would let a repository have files written, and removed, anywhere.
cd -P .
top=$(git rev-parse --show-toplevel 2>/dev/null)
place=$PWD
until [ -e "$place/.git" ] || [ "$place" = '' ]; do place=\${place%/*}; done
case $top in '' | "\${place:-/}") ;; *) fail "the repository names a work tree elsewhere: $top" ;; esac

exec /bin/bash --noprofile --norc -c "$1"`
}
