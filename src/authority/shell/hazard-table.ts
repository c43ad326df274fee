import type { OptionTable } from './option-table.js'

/** How the operands of a command name files; see `file-arguments.ts`. */
export type Operands =
  | 'text'
  | 'read'
  | 'write'
  | 'one-read'
  | 'copy'
  | 'move'
  | 'pattern'
  | 'mode'
  | 'archive'
  | 'roots'
  | 'script'

export type CommandTable = OptionTable & {
  readonly operands?: Operands
  /** A hazard of the command with any options. */
  readonly always?: string
}

const WRITES = 'writes a file'
const RUNS = 'runs another program'
const READS_NAMES = 'reads files whose names it takes from elsewhere'
const READS_SCRIPT = 'takes its instructions from a file'

/** Commands for text and files. The options are those of GNU coreutils and similar programs. */
export const HAZARD_TABLE: Readonly<Record<string, CommandTable>> = {
  ls: {
    options:
      '-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I= -T= -w= --all --almost-all --author --block-size= --classify? --color? --directory --escape --file-type --format= --full-time --group-directories-first --help --hide= --human-readable --hyperlink? --ignore= --ignore-backups --indicator-style= --inode --kibibytes --literal --no-group --numeric-uid-gid --quote-name --quoting-style= --recursive --reverse --si --size --sort= --time= --time-style= --version --width= --zero',
    operands: 'read',
  },
  cat: {
    options:
      '-AbeEnstTuv --help --number --number-nonblank --show-all --show-ends --show-nonprinting --show-tabs --squeeze-blank --version',
    operands: 'read',
  },
  tac: { options: '-br -s= --before --regex --separator= --help --version', operands: 'read' },
  head: {
    options: '-qvz -c= -n= --bytes= --help --lines= --quiet --silent --verbose --version --zero-terminated',
    numbers: true,
    operands: 'read',
  },
  tail: {
    options:
      '-fFqvz -c= -n= -s= --bytes= --follow? --help --lines= --max-unchanged-stats= --pid= --quiet --retry --silent --sleep-interval= --verbose --version --zero-terminated',
    numbers: true,
    operands: 'read',
  },
  wc: {
    options: '-cmlLw --bytes --chars --help --lines --max-line-length --total= --version --words',
    hazards: { '--files0-from=r': READS_NAMES },
    operands: 'read',
  },
  nl: { options: '-p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w= --help --version', operands: 'read' },
  cut: {
    options:
      '-nsz -b= -c= -d= -f= --bytes= --characters= --complement --delimiter= --fields= --help --only-delimited --output-delimiter= --version --zero-terminated',
    operands: 'read',
  },
  tr: {
    options: '-cCdst --complement --delete --help --squeeze-repeats --truncate-set1 --version',
    operands: 'text',
  },
  rev: { options: '-V -h -0', operands: 'read' },
  paste: { options: '-sz -d= --delimiters= --serial --zero-terminated --help --version', operands: 'read' },
  join: {
    options: '-iz -a= -e= -j= -o= -t= -v= -1= -2= --check-order --nocheck-order --header --ignore-case',
    operands: 'read',
  },
  comm: {
    options: '-123z --check-order --nocheck-order --output-delimiter= --total --zero-terminated',
    operands: 'read',
  },
  column: {
    options: '-tnexJ -s= -o= -c= -N= -H= -R= --table --json --separator= --output-separator=',
    operands: 'read',
  },
  fold: { options: '-bs -w= --bytes --spaces --width=', operands: 'read' },
  sort: {
    options:
      '-bcCdfghiMmnrRsuVz -k= -t= -S= --batch-size= --buffer-size= --check? --debug --dictionary-order --field-separator= --general-numeric-sort --help --human-numeric-sort --ignore-case --ignore-leading-blanks --ignore-nonprinting --key= --merge --month-sort --numeric-sort --parallel= --random-sort --random-source=r --reverse --sort= --stable --unique --version --version-sort --zero-terminated',
    hazards: {
      '-o=w --output=w': WRITES,
      '--files0-from=r': READS_NAMES,
      '--compress-program=': RUNS,
      '-T=w --temporary-directory=w': 'writes files to another directory',
    },
    operands: 'read',
  },
  uniq: {
    options:
      '-cdDiuz -f= -s= -w= --all-repeated? --check-chars= --count --group? --help --ignore-case --repeated --skip-chars= --skip-fields= --unique --version --zero-terminated',
    operands: 'one-read',
  },
  grep: {
    options:
      '-abcEFGhHiIlLnoPqrRsTuUvVwxyzZ -A= -B= -C= -D= -d= -e= -f=r -m= --after-context= --basic-regexp --before-context= --binary --binary-files= --byte-offset --color? --colour? --context= --count --dereference-recursive --devices= --directories= --exclude= --exclude-dir= --exclude-from=r --extended-regexp --file=r --files-with-matches --files-without-match --fixed-strings --help --ignore-case --include= --initial-tab --invert-match --label= --line-buffered --line-number --line-regexp --max-count= --no-filename --no-ignore-case --no-messages --null --null-data --only-matching --perl-regexp --quiet --recursive --regexp= --silent --text --version --with-filename --word-regexp',
    numbers: true,
    operands: 'pattern',
  },
  rg: {
    options:
      '-abcFhHiIlLnNopPqsSuUvVwx0. -A= -B= -C= -d= -e= -E= -f=r -g= -j= -m= -M= -r= -t= -T= --after-context= --before-context= --byte-offset --case-sensitive --color= --colors= --column --context= --context-separator= --count --count-matches --crlf --debug --encoding= --engine= --field-context-separator= --field-match-separator= --file=r --files --files-with-matches --files-without-match --fixed-strings --follow --glob= --glob-case-insensitive --heading --help --hidden --iglob= --ignore-case --include-zero --invert-match --json --line-buffered --line-number --line-regexp --max-columns= --max-columns-preview --max-count= --max-depth= --max-filesize= --mmap --multiline --multiline-dotall --no-config --no-filename --no-heading --no-ignore --no-ignore-parent --no-ignore-vcs --no-line-number --no-messages --null --null-data --one-file-system --only-matching --passthru --path-separator= --pcre2 --pretty --quiet --regexp= --regex-size-limit= --replace= --smart-case --sort= --sortr= --stats --stop-on-nonmatch --text --threads= --trim --type= --type-list --type-not= --unrestricted --version --vimgrep --with-filename --word-regexp',
    hazards: {
      '--pre= --pre-glob= --hostname-bin=': RUNS,
      '-z --search-zip': 'runs decompression programs',
      '--ignore-file=r': 'reads another ignore file',
      '--generate=': 'is not a search',
    },
    operands: 'pattern',
  },
  diff: {
    options:
      '-abBcdeEfFHinNpPqrsStTuvwWyZ -C= -F= -I= -L= -S= -U= -W= -x= -X=r --brief --color? --context? --exclude= --exclude-from=r --expand-tabs --from-file=r --help --ignore-all-space --ignore-blank-lines --ignore-case --ignore-file-name-case --ignore-matching-lines= --ignore-space-change --ignore-tab-expansion --ignore-trailing-space --label= --minimal --new-file --no-dereference --normal --recursive --report-identical-files --side-by-side --speed-large-files --strip-trailing-cr --suppress-common-lines --text --to-file=r --unified? --version --width=',
    hazards: { '-l --paginate': RUNS },
    operands: 'read',
  },
  cmp: {
    options: '-bls -i= -n= --bytes= --ignore-initial= --print-bytes --quiet --silent --verbose',
    operands: 'read',
  },
  stat: {
    options: '-fLt -c= --dereference --file-system --format= --printf= --terse --cached= --help --version',
    operands: 'read',
  },
  file: {
    options:
      '-bhiLNnprsvk0 -e= -f=r -F= -P= --brief --dereference --exclude= --files-from=r --mime --mime-type --mime-encoding --no-dereference --separator= --version --help --keep-going --raw',
    hazards: {
      '-C --compile': WRITES,
      '-m=r --magic-file=r': READS_SCRIPT,
      '-z --uncompress -Z --uncompress-noreport': RUNS,
    },
    operands: 'read',
  },
  du: {
    options:
      '-0abcDhHklLmsSx -B= -d= -t= --all --apparent-size --block-size= --bytes --count-links --dereference --exclude= --exclude-from=r --human-readable --max-depth= --null --one-file-system --separate-dirs --si --summarize --threshold= --time? --time-style= --total --help --version',
    hazards: { '--files0-from=r': READS_NAMES },
    operands: 'read',
  },
  df: {
    options:
      '-ahHiklPTv -B= -t= -x= --all --block-size= --human-readable --inodes --local --output? --print-type --total --help --version',
    operands: 'text',
  },
  tree: {
    options:
      '-aACdDfFghilnNpqQrsStuUvxX -H= -I= -L= -P= --charset= --dirsfirst --du --filelimit= --gitignore --help --inodes --noreport --prune --si --sort? --timefmt= --version -J',
    hazards: { '-o=w': WRITES, '-R': 'writes files into every directory' },
    operands: 'read',
  },
  realpath: {
    options:
      '-eLmPqsz --canonicalize-existing --canonicalize-missing --logical --no-symlinks --physical --quiet --relative-base= --relative-to= --strip --zero',
    operands: 'text',
  },
  readlink: {
    options:
      '-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero',
    operands: 'text',
  },
  base64: { options: '-di -w= --decode --help --ignore-garbage --version --wrap=', operands: 'read' },
  base32: { options: '-di -w= --decode --help --ignore-garbage --version --wrap=', operands: 'read' },
  xxd: {
    options: '-abCdeiEpuv -c= -g= -l= -n= -o= -s= -R=',
    hazards: { '-r': 'writes bytes back into a file' },
    operands: 'one-read',
  },
  od: {
    options:
      '-abcdfhiloswxv -A= -j= -N= -S= -t= -w? --address-radix= --endian= --format= --output-duplicates --read-bytes= --skip-bytes= --strings? --traditional --width?',
    operands: 'read',
  },
  hexdump: { options: '-bcCdoxv -e= -n= -s= -f=r', operands: 'read' },
  strings: {
    options: '-afwoU -n= -t= -e= -T= --all --bytes= --encoding= --radix= --print-file-name',
    numbers: true,
    operands: 'read',
  },
  shuf: {
    options:
      '-ez -i= -n= -r --echo --head-count= --input-range= --repeat --zero-terminated --random-source=r',
    hazards: { '-o=w --output=w': WRITES },
    operands: 'read',
  },
  iconv: {
    options: '-cls -f= -t= --from-code= --to-code= --list --silent --verbose',
    hazards: { '-o=w --output=w': WRITES },
    operands: 'read',
  },
  split: { options: '', always: 'split writes files', lenient: true, operands: 'read' },
  csplit: { options: '', always: 'csplit writes files', lenient: true, operands: 'read' },
  jq: {
    options:
      '-acCeMnrRsSj -f=r --arg= --args --argjson= --ascii-output --color-output --compact-output --exit-status --indent= --join-output --jsonargs --monochrome-output --null-input --raw-input --raw-output --rawfile= --seq --slurp --slurpfile= --sort-keys --stream --tab --unbuffered --version --help',
    hazards: { '-L= --library-path=': READS_SCRIPT },
    operands: 'pattern',
  },
  less: {
    options:
      '-acdeEfFgGiIJmMnNqQrRsSuUwWXz~ -b= -h= -j= -p= -P= -x= -y= --quit-if-one-screen --no-init --RAW-CONTROL-CHARS --raw-control-chars --LINE-NUMBERS --chop-long-lines',
    hazards: {
      '-o=w -O=w --log-file=w --LOG-FILE=w': WRITES,
      '-k=r --lesskey-file= --lesskey-src=': READS_SCRIPT,
    },
    operands: 'read',
  },
  more: { options: '-dflcpsu -n=', numbers: true, operands: 'read' },
  md5sum: {
    options: '-bctwz --binary --check --ignore-missing --quiet --status --strict --tag --text --warn --zero',
    operands: 'read',
  },
  awk: {
    options: '-F= -v= --field-separator= --assign= --version --help --posix --re-interval --sandbox -S',
    hazards: {
      '-f=r --file=r -E=r --exec=r -i=r --include=r -l=r --load=': READS_SCRIPT,
      '-o? --pretty-print? -p? --profile? -d? --dump-variables?': WRITES,
      '-D? --debug?': READS_SCRIPT,
    },
    operands: 'script',
  },
  sed: {
    options:
      '-nErsuzb -e= -l= --quiet --silent --expression= --regexp-extended --separate --unbuffered --null-data --posix --sandbox --debug --line-length= --help --version --binary --zero-terminated',
    hazards: { '-i? --in-place?': 'changes files', '-f=r --file=r': READS_SCRIPT },
    operands: 'script',
  },
  // The effects of these commands are clear from their names; they are listed so that their files are found.
  rm: { options: '--one-file-system --preserve-root? --interactive?', lenient: true, operands: 'write' },
  rmdir: { options: '', lenient: true, operands: 'write' },
  unlink: { options: '', lenient: true, operands: 'write' },
  shred: { options: '-n= -s= --random-source=r --iterations= --size=', lenient: true, operands: 'write' },
  mkdir: { options: '-m= --mode=', lenient: true, operands: 'write' },
  mkfifo: { options: '-m= --mode=', lenient: true, operands: 'write' },
  touch: { options: '-d= -t= -r=r --date= --time= --reference=r', lenient: true, operands: 'write' },
  tee: { options: '-p --output-error?', lenient: true, operands: 'write' },
  truncate: { options: '-s= -r=r --size= --reference=r', lenient: true, operands: 'write' },
  cp: {
    options: '-t=w -S= --target-directory=w --suffix= --no-preserve= --sparse=',
    lenient: true,
    operands: 'copy',
  },
  install: {
    options: '-t=w -m= -o= -g= -S= --target-directory=w --mode= --owner= --group= --suffix=',
    hazards: { '--strip-program=': RUNS },
    lenient: true,
    operands: 'copy',
  },
  ln: { options: '-t=w -S= --target-directory=w --suffix=', lenient: true, operands: 'copy' },
  mv: { options: '-t=w -S= --target-directory=w --suffix=', lenient: true, operands: 'move' },
  chmod: { options: '--reference=r', lenient: true, operands: 'mode' },
  chown: { options: '--reference=r --from=', lenient: true, operands: 'mode' },
  chgrp: { options: '--reference=r', lenient: true, operands: 'mode' },
  gzip: { options: '-S= --suffix=', lenient: true, operands: 'move' },
  gunzip: { options: '-S= --suffix=', lenient: true, operands: 'move' },
  zcat: { options: '', lenient: true, operands: 'read' },
  unzip: { options: '-d=w -x= -P=', lenient: true, operands: 'one-read' },
  zip: {
    options: '-rqvjmuf0123456789 -x= -i= --exclude= --include= --recurse-paths --quiet',
    hazards: { '-T --test -TT --unzip-command=': RUNS },
    operands: 'move',
  },
  tar: {
    options:
      '-tcxruAdvzjJaphkmOwWSUlZoBs -f= -C=w -T=r -X=r -b= -N= -V= -H= --auto-compress --bzip2 --create --diff --directory=w --exclude= --exclude-from=r --exclude-vcs --exclude-vcs-ignores --extract --file= --files-from=r --get --gzip --keep-old-files --list --lzma --numeric-owner --no-same-owner --no-same-permissions --no-recursion --one-file-system --overwrite --owner= --group= --mode= --mtime= --sort= --same-permissions --skip-old-files --strip-components= --to-stdout --totals --update --append --verbose --verify --wildcards --no-wildcards --xz --zstd --format= --version --help --null --dereference',
    hazards: {
      '--checkpoint-action= --to-command= -I= --use-compress-program= -F= --info-script= --new-volume-script= --rsh-command= --rmt-command=':
        RUNS,
      '-P --absolute-names': 'writes outside of its directory',
      '--remove-files --recursive-unlink --unlink-first': 'deletes files',
      '--index-file=w --listed-incremental=w -g=w --volno-file=w': WRITES,
    },
    operands: 'archive',
  },
}

export const SAME_TABLE: Readonly<Record<string, string>> = {
  egrep: 'grep',
  fgrep: 'grep',
  gawk: 'awk',
  mawk: 'awk',
  nawk: 'awk',
  gsed: 'sed',
  gtar: 'tar',
  bsdtar: 'tar',
  dir: 'ls',
  vdir: 'ls',
  sha1sum: 'md5sum',
  sha224sum: 'md5sum',
  sha256sum: 'md5sum',
  sha384sum: 'md5sum',
  sha512sum: 'md5sum',
  b2sum: 'md5sum',
  cksum: 'md5sum',
  batcat: 'cat',
}
