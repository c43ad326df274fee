import type { Word } from './analysis.js'

/** Describes what is not harmless in the arguments of find. */
export function findHazards(args: readonly Word[]): string[] {
  const doubts: string[] = []
  for (let at = 0; at < args.length; at++) {
    const value = args[at]?.value
    if (value === undefined || !value.startsWith('-') || value === '-') continue
    if (VALUE_TESTS.has(value) || /^-newer[aBcmt]{2}$/.test(value)) at++
    else if (!PLAIN_TESTS.has(value)) {
      doubts.push(`find ${value} ${HAZARDS[value] ?? 'is not among the tests known to be harmless'}`)
    }
  }
  return doubts
}

/** Returns the commands that find starts: each up to its `;` or `+`, with `{}` for file names. */
export function findCommands(args: readonly Word[]): (readonly Word[])[] {
  const commands: Word[][] = []
  for (let at = 0; at < args.length; at++) {
    if (!/^-(exec|execdir|ok|okdir)$/.test(args[at]?.value ?? '')) continue
    const found = args.findIndex((word, index) => index > at && (word.value === ';' || word.value === '+'))
    const end = found < 0 ? args.length : found
    commands.push(args.slice(at + 1, end).map(fileNamesAreDynamic))
    at = end
  }
  return commands
}

function fileNamesAreDynamic(word: Word): Word {
  return word.value?.includes('{}') ? { text: word.text } : word
}

const RUNS = 'runs another program'
const WRITES = 'writes a file'
const HAZARDS: Readonly<Record<string, string>> = {
  '-exec': RUNS,
  '-execdir': RUNS,
  '-ok': RUNS,
  '-okdir': RUNS,
  '-delete': 'deletes files',
  '-fprint': WRITES,
  '-fprint0': WRITES,
  '-fprintf': WRITES,
  '-fls': WRITES,
  '-files0-from': 'reads its starting points from a file',
}

const VALUE_TESTS = new Set(
  '-amin -anewer -atime -cmin -cnewer -context -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex -iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name -newer -path -perm -printf -regex -regextype -samefile -size -type -uid -used -user -wholename -xtype -D -O'.split(
    ' ',
  ),
)

const PLAIN_TESTS = new Set(
  '-a -and -daystart -depth -d -empty -executable -false -follow -help -ignore_readdir_race -ls -mount -noignore_readdir_race -noleaf -nogroup -not -nouser -nowarn -o -or -print -print0 -prune -quit -readable -true -version -warn -writable -xautofs -xdev -H -L -P -O1 -O2 -O3 --version --help'.split(
    ' ',
  ),
)
