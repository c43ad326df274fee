import type { Word } from './analysis.js'
import { commandName } from './command-table.js'
import { HAZARD_TABLE, SAME_TABLE } from './hazard-table.js'
import { DEV_TABLE } from './hazard-table-dev.js'
import { isSystemPath } from './system-path.js'
import { isLoader, OPAQUE_WRAPPERS, SHELLS, WRAPPERS } from './wrapper-table.js'

/**
 * What is known of a program by its name, as far as its arguments go. The lists only take programs out: whatever is not
 * listed may read and write every path it is given, and may run every command it is given.
 */

/** The name of a command by which the tables go; undefined for a program of another directory, which only has the same name. */
export function knownName(word: Word | undefined): string | undefined {
  const path = word?.value
  return path === undefined || (path.includes('/') && !isSystemPath(path) && !isLoader(path))
    ? undefined
    : commandName(word)
}

/** Whether the arguments name no files, or the tables say which of them do. */
export function namesFilesByTable(name: string): boolean {
  return TEXT_ONLY.has(name) || BY_OWN_READER.has(name) || Object.hasOwn(HAZARD_TABLE, known(name))
}

/** Whether no argument is the name of a program that it starts, or `unwrap` already follows those that are. */
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

/** Whether `unwrap` finds exactly what it starts: that is judged as a command of its own. */
export function isFollowed(name: string): boolean {
  return SHELLS.has(name) || Object.hasOwn(WRAPPERS, name) || name === 'eval' || name === 'trap'
}

/** Programs whose first words are subcommands: `docker volume rm x` does not run rm. */
export function hasSubcommands(name: string): boolean {
  return SUBCOMMANDS.has(name)
}

function known(name: string): string {
  return Object.hasOwn(SAME_TABLE, name) ? (SAME_TABLE[name] ?? name) : name
}

function set(names: string): ReadonlySet<string> {
  return new Set(names.split(' '))
}

/** Arguments are text, numbers or names, never files. `date` and `hostname` are not here: both print a file they are given. */
const TEXT_ONLY = set(
  'echo printf true false : exit return break continue shift kill sleep seq expr basename dirname pwd uname whoami id groups tty type which wait jobs bg fg disown umask ulimit times yes nproc arch logname export unset let set shopt alias unalias hash',
)

/** `file-arguments.ts` reads their arguments itself. */
const BY_OWN_READER = set('cd pushd popd test [ find')

/** `unwrap.ts` follows what they start, as far as that can be done. */
const LATER = set('parallel watch')

/** They look a program up, or install it, and do not run it. */
const TAKES_NAMES = set(
  'man info whatis apropos tldr whereis help apt apt-get apt-cache aptitude dpkg dnf yum rpm apk pacman zypper brew port snap flatpak pip pip3 gem conda mamba asdf pyenv nvm rbenv rustup corepack',
)

const SUBCOMMANDS = set(
  'docker podman nerdctl docker-compose kubectl oc helm aws gcloud gsutil az gh glab hub terraform tofu pulumi vagrant systemctl journalctl service launchctl mix bazel bazelisk just task rake gradle gradlew mvn dotnet swift flutter dart composer bundle rails poetry pdm hatch nx turbo lerna rush vercel netlify heroku fly flyctl firebase supabase wrangler svn hg jj bzr rclone restic zfs btrfs ip nmcli',
)
