import { type ConfigEntry, formatConfig, parseConfig } from './config-text.js'

/**
 * The settings of a repository that name no program and refer to no other configuration. A list of what is known to be
 * harmless, not of what is known to be harmful, because new versions of git add new ways to start programs.
 */
const harmless: Readonly<Record<string, string>> = {
  core: 'repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf quotepath abbrev compression loosecompression bigfilethreshold preloadindex sparsecheckout sparsecheckoutcone splitindex untrackedcache trustctime checkstat whitespace sharedrepository commentchar protecthfs protectntfs longpaths hidedotfiles multipackindex commitgraph warnambiguousrefs disambiguate fsync fsyncmethod fsyncobjectfiles packedgitlimit packedgitwindowsize deltabasecachelimit maxtreedepth',
  extensions: 'objectformat worktreeconfig partialclone preciousobjects noop noop-v1 refstorage',
  user: 'name email useconfigonly',
  author: 'name email',
  committer: 'name email',
  init: 'defaultbranch',
  pull: 'rebase ff octopus twohead',
  push: 'default autosetupremote followtags recursesubmodules useforceifincludes',
  fetch: 'prune prunetags writecommitgraph parallel recursesubmodules all showforcedupdates',
  merge:
    'ff conflictstyle renames renamelimit directoryrenames log stat autostash verbosity branchdesc suppressdest',
  diff: 'algorithm renames renamelimit noprefix mnemonicprefix colormoved colormovedws context interhunkcontext indentheuristic ignoresubmodules submodule dirstat statgraphwidth statnamewidth suppressblankempty wordregex autorefreshindex relative',
  rebase:
    'autosquash autostash updaterefs stat missingcommitscheck abbreviatecommands reschedulefailedexec forkpoint rebasemerges maxlabellength',
  rerere: 'enabled autoupdate',
  status:
    'short branch showstash aheadbehind renames renamelimit displaycommentprefix showuntrackedfiles submodulesummary relativepaths',
  log: 'date decorate abbrevcommit follow graphcolors mailmap diffmerges excludedecoration initialdecorationset showroot',
  commit: 'verbose cleanup status',
  tag: 'sort',
  checkout: 'defaultremote guess workers thresholdforparallelism',
  stash: 'showincludeuntracked showpatch showstat',
  worktree: 'guessremote userelativepaths',
  gc: 'auto autodetach autopacklimit pruneexpire reflogexpire reflogexpireunreachable worktreepruneexpire packrefs writecommitgraph logexpiry bigpackthreshold cruftpacks',
  pack: 'threads window depth compression windowmemory deltacachesize indexversion usebitmaps writereverseindex',
  index: 'version threads sparse skiphash recordendofindexentries recordoffsettable',
  feature: 'manyfiles experimental',
  maintenance: 'auto strategy',
  submodule: 'active recurse fetchjobs propagatebranches alternatelocation alternateerrorstrategy',
  i18n: 'commitencoding logoutputencoding',
  apply: 'whitespace ignorewhitespace',
  branch: 'autosetupmerge autosetuprebase sort',
  receive: 'denycurrentbranch denydeletes denynonfastforwards autogc',
  versionsort: 'suffix prereleasesuffix',
  lfs: 'repositoryformatversion',
}

/** Settings with a variable name in the middle: `branch.main.remote`. */
const harmlessNamed: Readonly<Record<string, string>> = {
  branch: 'remote merge rebase pushremote description vscode-merge-base github-pr-owner-number gh-merge-base',
  remote:
    'fetch push tagopt prune prunetags promisor partialclonefilter mirror skipdefaultupdate skipfetchall gh-resolved followremotehead',
  submodule: 'active branch ignore fetchrecursesubmodules shallow',
}

/** Sections in which every setting is harmless. */
const harmlessSections = new Set(['color', 'advice', 'column', 'gui', 'gitg', 'lfs-locks'])

/** Whether this setting makes git neither start a program nor read another configuration. */
export function isHarmless(entry: ConfigEntry): boolean {
  const { section, subsection, key, value } = entry
  if (harmlessSections.has(section)) return true
  if (subsection === undefined) return listed(harmless, section, key)
  // An address with a helper (`ext::sh -c …`) or one that ssh would read as an option names a program.
  if (key === 'url' || key === 'pushurl')
    return (section === 'remote' || section === 'submodule') && isPlainAddress(value)
  if (section === 'branch' && key === 'remote' && !isPlainAddress(value)) return false
  return listed(harmlessNamed, section, key)
}

/** Returns only the settings that are known to be harmless; for an unreadable file, those of a new repository. */
export function harmlessConfig(text: string): string {
  const entries = parseConfig(text)
  if (entries === undefined) return formatConfig(newRepository)
  // The work tree of a repository is checked before each guarded command.
  const kept = entries.filter((entry) => isHarmless(entry) || settingName(entry) === 'core.worktree')
  return formatConfig(kept)
}

/** Returns the first setting that is not known to be harmless, as `section.name.key`, or `unreadable`. */
export function harmfulSetting(
  text: string,
  tolerates: (entry: ConfigEntry) => boolean = () => false,
): string | undefined {
  const entries = parseConfig(text)
  if (entries === undefined) return 'unreadable'
  const found = entries.find((entry) => !isHarmless(entry) && !tolerates(entry))
  return found && settingName(found)
}

function settingName({ section, subsection, key }: ConfigEntry): string {
  return [section, subsection, key].filter((part) => part !== undefined).join('.')
}

/** Returns shell patterns for the names of all harmless settings, as git prints them. */
export function harmlessNames(): string[] {
  const named = (table: Readonly<Record<string, string>>, between: string): string[] =>
    Object.entries(table).flatMap(([section, keys]) =>
      keys.split(' ').map((key) => `${section}${between}${key}`),
    )
  return [
    ...named(harmless, '.'),
    ...named(harmlessNamed, '.*.'),
    ...Array.from(harmlessSections, (section) => `${section}.*`),
    'remote.*.url',
    'remote.*.pushurl',
    'submodule.*.url',
  ]
}

const newRepository: readonly ConfigEntry[] = [
  { section: 'core', key: 'repositoryformatversion', value: '0' },
  { section: 'core', key: 'filemode', value: 'true' },
]

function isPlainAddress(value: string | true): boolean {
  return (
    typeof value === 'string' &&
    !value.startsWith('-') &&
    !/^[A-Za-z0-9+.-]*::/.test(value) &&
    !/\/\/-/.test(value)
  )
}

function listed(table: Readonly<Record<string, string>>, section: string, key: string): boolean {
  return Object.hasOwn(table, section) && (table[section] ?? '').split(' ').includes(key)
}
