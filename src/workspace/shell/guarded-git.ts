import type { ShellOptions } from '../../tool/runtime.js'
import { harmlessNames } from '../git/safe-config.js'

/** Returns the arguments of a shell that runs a command, with git guarded as requested. */
export function shellArgv(
  command: string,
  guardGit: ShellOptions['guardGit'],
): readonly [string, ...string[]] {
  if (guardGit === true) return guardedGit(command)
  return guardGit === 'clone' ? guardedClone(command) : ['/bin/bash', '--noprofile', '--norc', '-c', command]
}

/**
 * Returns the arguments of a shell that runs a command in which git starts no program that the repository names, and
 * works on no other tree than the one that contains the repository. The settings are passed in git's environment, where
 * they take precedence over every configuration file (SEC-095, SEC-097); before that, git only reads the configuration.
 * Fails closed when git ignores the settings.
 */
function guardedGit(command: string): readonly [string, ...string[]] {
  return ['/bin/bash', '--noprofile', '--norc', '-c', script(command), 'guarded-git', command]
}

/**
 * Returns the arguments for `git clone`, which works on no existing repository: no configuration of the machine or the
 * user is read, HTTP is the only transport, redirects are not followed, and received data is checked before it is used.
 */
function guardedClone(command: string): readonly [string, ...string[]] {
  return ['/bin/bash', '--noprofile', '--norc', '-c', cloneScript, 'guarded-git', command]
}

/** Settings that are passed to git, whatever the repository's configuration is. */
const settings: readonly (readonly [key: string, value: string])[] = [
  // First, because the script checks that it took effect.
  ['core.hooksPath', '/dev/null'],
  // Empty, not `false`: older versions use any text as a program.
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
  // A submodule has its own filters, which are not known here.
  ['submodule.recurse', 'false'],
  ['status.submoduleSummary', 'false'],
  ['diff.submodule', 'short'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  // A directory of the project that only looks like a bare repository is not used as one.
  ['safe.bareRepository', 'explicit'],
  ['core.protectHFS', 'true'],
  ['core.protectNTFS', 'true'],
  ['color.ui', 'false'],
  ['core.quotePath', 'false'],
  ['i18n.logOutputEncoding', 'UTF-8'],
  // It only prints warnings, into the output that is parsed here.
  ['core.safecrlf', 'false'],
]

const variables: Readonly<Record<string, string>> = {
  // A partial clone fetches missing objects with programs that the repository names.
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_ATTR_NOSYSTEM: '1',
}

const cloneSettings: readonly (readonly [key: string, value: string])[] = [
  ['http.followRedirects', 'false'],
  ['transfer.fsckObjects', 'true'],
  ['transfer.bundleURI', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['http.cookieFile', ''],
  ['http.emptyAuth', 'false'],
]

const cloneVariables: Readonly<Record<string, string>> = {
  ...variables,
  GIT_ALLOW_PROTOCOL: 'http:https',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  // Empty: nothing is copied into the new repository, in particular no hooks.
  GIT_TEMPLATE_DIR: "''",
}

const configuredNames = settings.map(([key]) => key.toLowerCase())

/** Git must read its settings from the environment: a git that does not is not run. */
const checkGitReadsSettings = `
hooks=$(git config core.hooksPath)
[ "$hooks" = /dev/null ] || fail 'this git cannot be kept from running what a repository names (it takes 2.31 or newer)'`

const cloneScript = `${configure([...settings, ...cloneSettings], cloneVariables)}
${checkGitReadsSettings}
exec /bin/bash --noprofile --norc -c "$1"`

function configure(
  settings: readonly (readonly [key: string, value: string])[],
  exported: Readonly<Record<string, string>>,
): string {
  return `
fail() { printf 'fatal: %s\\n' "$1" >&2; exit 128; }
command -v git >/dev/null || fail 'git is not installed'
count=0
configure() {
  export "GIT_CONFIG_KEY_$count=$1" "GIT_CONFIG_VALUE_$count=$2"
  count=$((count + 1))
  export GIT_CONFIG_COUNT=$count
}
${Object.entries(exported)
  .map(([name, value]) => `export ${name}=${value}`)
  .join('\n')}
${settings.map(([key, value]) => `configure ${key} '${value}'`).join('\n')}`
}

function script(command: string): string {
  return `${configure(settings, variables)}

# Every setting that is not known to be harmless is switched off by its name, whatever it is for.
switch_off() {
  local entry key known
  mapfile -d '' -t known < <(git config --null "$@" --list --name-only)
  for key in "\${known[@]}"; do
    case $key in
      ${configuredNames.join('|')}) ;;
      core.worktree|url.*|include.path|includeif.*) ;;
      ${harmlessNames().join('|')}) ;;
      filter.*.required) configure "$key" false ;;
      hook.*.*) configure "\${key%.*}.enabled" false ;;
      *) configure "$key" '' ;;
    esac
  done
}
switch_off
${checkGitReadsSettings}

# Outside of a repository git compares any two files (what it says of that is the answer).
cd -P .
mapfile -t known < <(git rev-parse --path-format=absolute --show-toplevel --absolute-git-dir --git-common-dir)
[ "\${#known[@]}" = 3 ] || exit 128
top=\${known[0]} own=\${known[1]} common=\${known[2]}

# core.worktree would let a repository have files written, and removed, anywhere.
place=$PWD
until [ -e "$place/.git" ] || [ "$place" = '' ]; do place=\${place%/*}; done
[ "$top" = "\${place:-/}" ] || fail "the repository names a work tree elsewhere: $top"

# A .git that only points to a repository elsewhere would show that one. It has to know of this work tree.
case $own/ in
  "$place"/*)
    case $common/ in "$place"/*) ;; *) fail "the repository keeps its objects elsewhere: $common" ;; esac
    for part in objects refs packed-refs; do
      [ ! -L "$common/$part" ] || fail "the repository keeps its $part elsewhere"
    done ;;
  *)
    back=
    [ ! -f "$own/gitdir" ] || back=$(<"$own/gitdir")
    case $back in '' | /*) ;; *) back=$own/$back ;; esac
    [ "$back" -ef "$place/.git" ] ||
      git config --file "$own/config" core.worktree >/dev/null ||
      fail "the .git here points to a repository that does not know of this work tree: $own" ;;
esac
${/\bworktree\b/.test(command) ? otherTrees : ''}
exec /bin/bash --noprofile --norc -c "$1"`
}

/** Other work trees read their own configuration, which is not known before git enters them. */
const otherTrees = `
for file in "$common"/worktrees/*/config.worktree; do
  [ ! -f "$file" ] || switch_off --file "$file" --includes
done
if git config --null --name-only --get-regexp '^includeif\\.' >/dev/null ||
  grep -qis '\\[[[:space:]]*include' -- "$common"/worktrees/*/config.worktree; then
  fail 'the configuration of the repository includes files conditionally: what they would run in another work tree is not known'
fi`
