import type { CommandTable } from './hazard-table.js'

const WRITES = 'writes a file'
const RUNS = 'runs another program'
const ELSEWHERE = 'works in another repository, whose configuration can run programs'

/** The options between `git` and the name of a subcommand. */
export const GIT_GLOBAL: CommandTable = {
  stops: true,
  options: '-Pvh --no-pager --version --help --no-optional-locks --literal-pathspecs --no-replace-objects',
  hazards: {
    '-c= --config-env=': 'sets configuration, which can run programs',
    '-C= --git-dir= --work-tree= --namespace= --super-prefix=': ELSEWHERE,
    '--exec-path?': 'runs git programs from another directory',
    '-p --paginate': RUNS,
  },
}

const DIFF =
  '-abuwprRszMBCDW -U= -S= -G= -l= --abbrev? --binary --cached --cc --check --color? --color-moved? --color-words? --combined-all-paths --compact-summary --cumulative --diff-algorithm= --diff-filter= --dirstat? --dst-prefix= --exit-code --find-copies? --find-copies-harder --find-renames? --find-object= --full-index --function-context --histogram --ignore-all-space --ignore-blank-lines --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-submodules? --indent-heuristic --inter-hunk-context= --irreversible-delete --merge-base --minimal --name-only --name-status --no-color --no-color-moved --no-ext-diff --no-indent-heuristic --no-patch --no-prefix --no-renames --no-textconv --numstat --patch --patch-with-stat --patience --pickaxe-all --pickaxe-regex --quiet --raw --relative? --shortstat --src-prefix= --staged --stat? --submodule? --summary --text --unified= --word-diff? --word-diff-regex= --ws-error-highlight='

const LOG =
  '-EFPigmqtch1 -n= -L= --abbrev-commit --all --all-match --ancestry-path --after= --author= --author-date-order --basic-regexp --before= --bisect --boundary --branches? --cherry --cherry-mark --cherry-pick --children --clear-decorations --committer= --count --date= --date-order --decorate? --decorate-refs= --decorate-refs-exclude= --dense --do-walk --encoding= --exclude= --extended-regexp --first-parent --fixed-strings --follow --format= --full-history --glob= --graph --grep= --grep-reflog= --heads --invert-grep --left-only --left-right --log-size --max-count= --max-parents= --merge --merges --min-parents= --no-abbrev-commit --no-decorate --no-expand-tabs --no-max-parents --no-merges --no-mailmap --no-notes --no-walk? --not --notes? --objects --oneline --parents --perl-regexp --pretty? --reflog --regexp-ignore-case --relative-date --remotes? --remove-empty --reverse --right-only --root --show-linear-break? --show-notes? --show-pulls --simplify-by-decoration --simplify-merges --since= --skip= --source --sparse --stdin --tags? --topo-order --until= --use-mailmap --walk-reflogs'

const DIFF_HAZARDS = {
  '--output=w': WRITES,
  '--ext-diff': 'runs the diff program of the repository',
  '--textconv': 'runs the conversion programs of the repository',
  '-O=r --orderfile=r': 'reads another file',
  '--show-signature': RUNS,
  '--no-index': 'compares files that need not be in the repository',
} as const

const COMMITTING =
  '-qvse -m= -C= -c= -t=r -F=r -u? --all -a --allow-empty --allow-empty-message --amend --author= --branch --cleanup= --date= --dry-run --edit --file=r --fixup= --include --long --message= --no-edit --no-gpg-sign --no-post-rewrite --no-signoff --no-status --null --only --patch -p --pathspec-file-nul --porcelain --quiet --reedit-message= --reset-author --reuse-message= --short --signoff --squash= --status --template=r --trailer= --untracked-files? --verbose --verify --no-verify -n'

const MERGING =
  '-qvn -s= -X= -m= -F=r --abort --allow-unrelated-histories --autostash --commit --continue --edit --no-edit --ff --ff-only --log? --message= --no-autostash --no-commit --no-ff --no-log --no-rebase --no-squash --no-stat --no-verify --progress --quiet --quit --rebase? --squash --stat --strategy= --strategy-option= --verbose'

const FETCHING =
  '-afkmpqtuv46 -j= --all --append --atomic --deepen= --depth= --dry-run --force --jobs= --keep --multiple --no-auto-gc --no-auto-maintenance --no-prune --no-recurse-submodules --no-tags --no-write-fetch-head --progress --prune --prune-tags --quiet --recurse-submodules? --refetch --refmap= --set-upstream --shallow-exclude= --shallow-since= --tags --unshallow --update-head-ok --update-shallow --verbose --filter='

const REMOTE_HAZARDS = {
  '--upload-pack= --receive-pack= --exec=': RUNS,
  '-o= --server-option= --push-option=': 'sends an option to the server',
} as const

/** Known subcommands. Any other may be an alias, which can run any program. */
export const GIT_SUBCOMMANDS: Readonly<Record<string, CommandTable>> = {
  status: {
    options:
      '-bsuvz -u? --ahead-behind --branch --column? --find-renames? --ignore-submodules? --ignored? --long --no-ahead-behind --no-column --no-renames --null --porcelain? --renames --short --show-stash --untracked-files? --verbose',
  },
  log: { options: `${DIFF} ${LOG}`, hazards: DIFF_HAZARDS, numbers: true },
  show: { options: `${DIFF} ${LOG}`, hazards: DIFF_HAZARDS, numbers: true },
  diff: { options: `${DIFF} -123 --base --ours --theirs`, hazards: DIFF_HAZARDS },
  'rev-list': { options: `${DIFF} ${LOG}`, hazards: DIFF_HAZARDS, numbers: true },
  shortlog: {
    options: '-cens -w? --committer --email --group= --numbered --summary --format= --since= --until= --all',
  },
  reflog: { options: `${DIFF} ${LOG} --expire= --rewrite --updateref`, hazards: DIFF_HAZARDS, numbers: true },
  whatchanged: { options: `${DIFF} ${LOG}`, hazards: DIFF_HAZARDS, numbers: true },
  blame: {
    options:
      '-bcefklnpstwCM -L= -S=r -C? -M? --abbrev= --color-by-age --color-lines --date= --encoding= --first-parent --ignore-rev= --ignore-revs-file=r --incremental --line-porcelain --porcelain --progress --reverse --root --score-debug --show-email --show-name --show-number --show-stats --since=',
  },
  branch: {
    options:
      '-aAcCdDfilmMqrtuvV -u= --abbrev= --all --color? --column? --contains= --copy --create-reflog --delete --force --format= --ignore-case --list --merged= --move --no-abbrev --no-color --no-column --no-contains= --no-merged= --no-track --omit-empty --points-at= --quiet --recurse-submodules --remotes --set-upstream-to= --show-current --sort= --track? --unset-upstream --verbose',
    hazards: { '--edit-description': RUNS },
  },
  tag: {
    options:
      '-adfil -n? -m= -F=r --annotate --cleanup= --color? --column? --contains= --create-reflog --delete --file=r --force --format= --ignore-case --list --merged= --message= --no-column --no-contains= --no-merged= --no-sign --points-at= --sort=',
    hazards: { '-s --sign -u= --local-user= -v --verify': RUNS },
  },
  remote: {
    options:
      '-v -f -t= -m= --verbose --tags --no-tags --mirror? --add --delete --push --all --prune --auto --dry-run -n -p',
  },
  'rev-parse': {
    options:
      '-q --abbrev-ref? --absolute-git-dir --all --branches? --default= --disambiguate= --exclude= --git-common-dir --git-dir --git-path= --glob= --is-bare-repository --is-inside-git-dir --is-inside-work-tree --is-shallow-repository --local-env-vars --no-flags --no-revs --not --path-format= --prefix= --quiet --remotes? --resolve-git-dir= --revs-only --shared-index-path --short? --show-cdup --show-object-format? --show-prefix --show-superproject-working-tree --show-toplevel --since= --sq --symbolic --symbolic-full-name --tags? --until= --verify --end-of-options',
  },
  'ls-files': {
    options:
      '-cdfikmorstuvxz -x= -X=r --abbrev? --cached --debug --deduplicate --deleted --directory --eol --error-unmatch --exclude= --exclude-from=r --exclude-per-directory= --exclude-standard --format= --full-name --ignored --killed --modified --no-empty-directory --others --recurse-submodules --resolve-undo --sparse --stage --unmerged --with-tree=',
  },
  'ls-tree': {
    options:
      '-drtlz --abbrev? --format= --full-name --full-tree --long --name-only --name-status --object-only',
  },
  'cat-file': {
    options:
      '-ept --allow-unknown-type --batch-check? --batch-all-objects --buffer --batch? --follow-symlinks --unordered -s',
    hazards: { '--textconv --filters': RUNS },
  },
  'merge-base': { options: '-a --all --fork-point --independent --is-ancestor --octopus' },
  'name-rev': { options: '--all --always --name-only --no-undefined --refs= --tags --exclude=' },
  'for-each-ref': {
    options:
      '-pqs --color? --contains= --count= --exclude= --format= --ignore-case --merged= --no-contains= --no-merged= --omit-empty --points-at= --shell --sort=',
  },
  'show-ref': {
    options:
      '-dhqs --abbrev? --dereference --exclude-existing? --exists --hash? --head --heads --quiet --tags --verify',
  },
  'count-objects': { options: '-vH --human-readable --verbose' },
  describe: {
    options:
      '--abbrev= --all --always --broken? --candidates= --contains --debug --dirty? --exact-match --exclude= --first-parent --long --match= --tags',
  },
  'check-ignore': { options: '-nqvz --no-index --non-matching --quiet --stdin --verbose' },
  grep: {
    options:
      '-aEFGhHIilLnoPpqrvwWz -A= -B= -C= -e= -f=r -m= --after-context= --all-match --and --basic-regexp --before-context= --break --cached --color? --column --context= --count -c --exclude-standard --extended-regexp --files-with-matches --files-without-match --fixed-strings --full-name --function-context --heading --ignore-case --invert-match --line-number --max-count= --max-depth= --name-only --no-color --no-exclude-standard --no-index --no-recursive --not --null --only-matching --or --perl-regexp --quiet --recurse-submodules --recursive --show-function --text --threads= --untracked --word-regexp',
    hazards: { '-O? --open-files-in-pager?': RUNS, '--textconv': RUNS, '--ext-grep': RUNS },
    numbers: true,
  },
  add: {
    options:
      '-AfinpuvN --all --chmod= --dry-run --force --ignore-errors --ignore-missing --ignore-removal --intent-to-add --no-all --no-ignore-removal --patch --pathspec-file-nul --refresh --renormalize --sparse --update --verbose',
    hazards: { '-e --edit': RUNS, '--pathspec-from-file=r': 'reads another file' },
  },
  commit: {
    options: COMMITTING,
    hazards: { '-S? --gpg-sign?': RUNS, '--pathspec-from-file=r': 'reads another file' },
  },
  checkout: {
    options:
      '-bBdflmpqtu -b= -B= --conflict= --detach --force --guess --ignore-other-worktrees --ignore-skip-worktree-bits --merge --no-guess --no-overlay --no-progress --no-track --orphan= --ours --overlay --overwrite-ignore --patch --progress --quiet --recurse-submodules? --theirs --track?',
  },
  switch: {
    options:
      '-dfmqt -c= -C= --create= --conflict= --detach --discard-changes --force --force-create= --guess --ignore-other-worktrees --merge --no-guess --no-progress --no-track --orphan= --progress --quiet --recurse-submodules? --track?',
  },
  restore: {
    options:
      '-mpqSW23 -s= --conflict= --ignore-skip-worktree-bits --ignore-unmerged --merge --no-overlay --no-progress --ours --overlay --patch --progress --quiet --recurse-submodules? --source= --staged --theirs --worktree',
  },
  reset: {
    options:
      '-Npq --hard --intent-to-add --keep --merge --mixed --no-refresh --patch --quiet --refresh --soft',
  },
  stash: {
    options:
      '-akpqSu -m= --all --include-untracked --index --keep-index --message= --no-include-untracked --no-keep-index --only-untracked --patch --quiet --staged --stat --oneline',
  },
  merge: { options: MERGING, hazards: { '-S? --gpg-sign?': RUNS } },
  pull: { options: `${MERGING} ${FETCHING} -r?`, hazards: { ...REMOTE_HAZARDS, '-S? --gpg-sign?': RUNS } },
  fetch: { options: FETCHING, hazards: REMOTE_HAZARDS },
  push: {
    options:
      '-dfnquv46 --all --atomic --branches --delete --dry-run --follow-tags --force --force-if-includes --force-with-lease? --ipv4 --ipv6 --mirror --no-atomic --no-force-with-lease --no-signed --no-thin --no-verify --porcelain --progress --prune --quiet --recurse-submodules= --set-upstream --tags --thin --verbose',
    hazards: { ...REMOTE_HAZARDS, '--signed? --repo=': 'is not among the options known to be harmless' },
  },
  clone: {
    options:
      '-lnqsv46 -b= -j= -o= --bare --branch= --depth= --filter= --jobs= --mirror --no-checkout --no-hardlinks --no-single-branch --no-tags --origin= --progress --quiet --recurse-submodules? --shallow-since= --single-branch --sparse --verbose',
    hazards: {
      '-u= --upload-pack= --template= -c= --config=': RUNS,
      '--reference= --separate-git-dir=w --bundle-uri=': ELSEWHERE,
    },
  },
  'ls-remote': {
    options: '-hqt --exit-code --get-url --heads --quiet --refs --sort= --symref --tags',
    hazards: REMOTE_HAZARDS,
  },
  init: {
    options: '-q -b= --bare --initial-branch= --object-format= --quiet',
    hazards: { '--template= --separate-git-dir=w': RUNS },
  },
  mv: { options: '-fknv --dry-run --force --verbose' },
  rm: { options: '-fnqr --cached --dry-run --force --ignore-unmatch --quiet --sparse' },
  clean: { options: '-dfnqxX -e= --dry-run --exclude= --force --quiet' },
  'cherry-pick': {
    options:
      '-nxe -m= -X= --abort --allow-empty --continue --edit --ff --keep-redundant-commits --mainline= --no-commit --quit --signoff -s --skip --strategy= --strategy-option=',
    hazards: { '-S? --gpg-sign?': RUNS },
  },
  revert: {
    options:
      '-nes -m= -X= --abort --continue --edit --mainline= --no-commit --no-edit --quit --signoff --skip --strategy=',
    hazards: { '-S? --gpg-sign?': RUNS },
  },
  rebase: {
    options:
      '-fmqrvkn -X= -s= --abort --apply --autosquash --autostash --continue --empty= --fork-point --keep-base --keep-empty --merge --no-autosquash --no-autostash --no-ff --no-stat --no-verify --onto= --quiet --quit --rebase-merges? --root --show-current-patch --skip --stat --strategy= --strategy-option= --update-refs --verbose',
    hazards: { '-x= --exec= -i --interactive --edit-todo': RUNS, '-S? --gpg-sign?': RUNS },
  },
  worktree: {
    options:
      '-bBdfv -b= -B= --checkout --detach --dry-run --expire= --force --lock --no-checkout --porcelain --reason= --verbose -n -z',
  },
  config: {
    options:
      '-lz --get= --get-all= --get-regexp= --list --name-only --null --show-origin --show-scope --type= --bool --int --global --system --local',
  },
  version: { options: '--build-options' },
  help: { options: '-agi --all --guides' },
}
