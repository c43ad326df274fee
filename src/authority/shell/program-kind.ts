import type { Word } from './analysis.js'
import { commandName } from './command-table.js'
import { HAZARD_TABLE, SAME_TABLE } from './hazard-table.js'
import { DEV_TABLE } from './hazard-table-dev.js'
import { isSystemPath } from './system-path.js'
import { isLoader, OPAQUE_WRAPPERS, SHELLS, WRAPPERS } from './wrapper-table.js'

/**
 * What is known about a program's arguments by its name. The lists only exclude programs: every program that is not
 * listed may read and write every path in its arguments, and may run every command in them.
 */

/** Returns the name of a command in the tables; undefined for a program of the same name in another directory. */
export function knownName(word: Word | undefined): string | undefined {
  const path = word?.value
  return path === undefined || (path.includes('/') && !isSystemPath(path) && !isLoader(path))
    ? undefined
    : commandName(word)
}

/** Returns whether the arguments name no files, or the tables say which of them do. */
export function namesFilesByTable(name: string): boolean {
  return TEXT_ONLY.has(name) || BY_OWN_READER.has(name) || Object.hasOwn(HAZARD_TABLE, known(name))
}

/** Returns whether a program starts none of its arguments, or only those that `unwrap` already follows. */
export function runsNoArgument(name: string): boolean {
  return (
    namesFilesByTable(name) ||
    isFollowed(name) ||
    name === 'git' ||
    OPAQUE_WRAPPERS.has(name) ||
    isLoader(name) ||
    Object.hasOwn(DEV_TABLE, name) ||
    LATER.has(name) ||
    TAKES_NAMES.has(name)
  )
}

/**
 * Returns whether `unwrap` finds exactly the commands that a program starts; they are then judged as separate
 * commands.
 */
export function isFollowed(name: string): boolean {
  return SHELLS.has(name) || Object.hasOwn(WRAPPERS, name) || name === 'eval' || name === 'trap'
}

/** Returns whether the first words are subcommands: `docker volume rm x` does not run rm. */
export function hasSubcommands(name: string): boolean {
  return SUBCOMMANDS.has(name)
}

function known(name: string): string {
  return Object.hasOwn(SAME_TABLE, name) ? (SAME_TABLE[name] ?? name) : name
}

function set(names: string): ReadonlySet<string> {
  return new Set(names.split(' '))
}

/** Arguments are text, numbers or names, never files. Without `date` and `hostname`: both can print a file. */
const TEXT_ONLY = set(
  'echo printf true false : exit return break continue shift kill sleep seq expr basename dirname pwd uname whoami id groups tty type which wait jobs bg fg disown umask ulimit times yes nproc arch logname export unset let set shopt alias unalias hash',
)

/** `file-arguments.ts` parses their arguments itself. */
const BY_OWN_READER = set('cd pushd popd test [ find')

/** `unwrap.ts` follows the commands that they start, as far as possible. */
const LATER = set('parallel watch')

/** They look up or install a program, and do not run it. */
const TAKES_NAMES = set(
  'man info whatis apropos tldr whereis help apt apt-get apt-cache aptitude dpkg dnf yum rpm apk pacman zypper brew port snap flatpak pip pip3 gem conda mamba asdf pyenv nvm rbenv rustup corepack',
)

const SUBCOMMANDS = set(
  'docker podman nerdctl docker-compose kubectl oc helm aws gcloud gsutil az gh glab hub terraform tofu pulumi vagrant systemctl journalctl service launchctl mix bazel bazelisk just task rake gradle gradlew mvn dotnet swift flutter dart composer bundle rails poetry pdm hatch nx turbo lerna rush vercel netlify heroku fly flyctl firebase supabase wrangler svn hg jj bzr rclone restic zfs btrfs ip nmcli',
)
