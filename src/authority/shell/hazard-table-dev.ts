import type { CommandTable } from './hazard-table.js'

const WRITES = 'writes a file'
const RUNS = 'runs another program'
const CODE = 'runs code given as an argument'
const ELSEWHERE = 'works in another directory'
const SETTINGS = 'takes other settings, which can run programs'

/** Build tools, package managers, interpreters and network clients. */
export const DEV_TABLE: Readonly<Record<string, CommandTable>> = {
  node: {
    stops: true,
    options:
      '-chv --check --version --help --test --test-name-pattern= --test-only --test-reporter= --watch --enable-source-maps --no-warnings --no-deprecation --trace-warnings --trace-uncaught --stack-trace-limit= --max-old-space-size= --max-http-header-size= --unhandled-rejections= --expose-gc --test-concurrency= --experimental-test-coverage --experimental-strip-types --experimental-sqlite --preserve-symlinks --test-timeout=',
    hazards: {
      '-e= --eval= -p? --print?': CODE,
      '-r= --require= --import= --loader= --experimental-loader= --env-file= --experimental-default-type=':
        'loads other code first',
      '-i --interactive': 'takes code from its input',
      '--inspect? --inspect-brk?': 'opens a debugging port',
      '--run=': RUNS,
    },
    operands: 'one-read',
  },
  python: {
    stops: true,
    options: '-bBdEhIOqsSuvVx -W= -X= -m= --version --help',
    hazards: { '-c=': CODE, '-i': 'takes code from its input' },
    operands: 'one-read',
  },
  perl: {
    stops: true,
    options: '-cvwWt --version',
    hazards: { '-e= -E=': CODE, '-i? -n -p -M= -m= -I=': RUNS },
    operands: 'one-read',
  },
  ruby: {
    stops: true,
    options: '-cvwW --version --help',
    hazards: { '-e=': CODE, '-r= -I= -n -p -i?': RUNS },
    operands: 'one-read',
  },
  php: {
    stops: true,
    options: '-hilmvn --version --help --info',
    hazards: { '-r= -B= -R= -E= -F=': CODE, '-S= -c= -d=': SETTINGS },
    operands: 'one-read',
  },
  lua: { stops: true, options: '-v', hazards: { '-e=': CODE, '-l=': RUNS }, operands: 'one-read' },
  make: {
    options:
      '-bBdhikmnpqrRsStvw -j? -l? -O? --always-make --debug? --dry-run --help --ignore-errors --jobs? --just-print --keep-going --load-average? --no-builtin-rules --no-print-directory --output-sync? --print-data-base --print-directory --question --quiet --recon --silent --trace --version --warn-undefined-variables',
    hazards: {
      '-f=r --file=r --makefile=r -I= --include-dir=': 'takes its rules from another file',
      '-C= --directory=': ELSEWHERE,
      '-e --environment-overrides -E= --eval=': SETTINGS,
    },
  },
  pytest: {
    options:
      '-hlqsvxV -k= -m= -n= -r= -W= --capture= --collect-only --co --color= --deselect= --disable-warnings --durations= --durations-min= --exitfirst --failed-first --ff --fixtures --ignore= --ignore-glob= --last-failed --lf --markers --maxfail= --new-first --nf --no-cov --no-header --no-summary --quiet --runxfail --setup-plan --setup-show --show-capture= --showlocals --stepwise --sw --strict-config --strict-markers --tb= --timeout= --verbose --verbosity= --version --cov? --cov-branch --cov-fail-under= --numprocesses= --dist=',
    hazards: {
      '-p= -c= -o= --override-ini= --rootdir= --confcutdir= --import-mode= --pdb --pdbcls= --trace --pyargs':
        SETTINGS,
      '--junitxml=w --junit-xml=w --basetemp=w --log-file=w --debug? --report-log=w --cov-report= --cov-config= --html=w --resultlog=w':
        WRITES,
      '--pastebin=': 'sends the output to a server',
    },
  },
  go: {
    singleDash: true,
    options:
      '--a --args --asan --bench= --benchmem --benchtime= --count= --cover --covermode= --coverpkg= --cpu= --failfast --fullpath --fuzztime= --json --list= --m --mod= --msan --n --p= --parallel= --race --run= --short --shuffle= --skip= --tags= --timeout= --trimpath --u --v --vet= --x --f= --deps --test --compiled --find --e --export --diff --json --versions --work',
    hazards: {
      '--exec= --toolexec= --vettool=': RUNS,
      '--o=w --coverprofile=w --cpuprofile=w --memprofile=w --blockprofile=w --mutexprofile=w --trace=w --outputdir=w --c --pkgdir=w':
        WRITES,
      '--C= --modfile=r --overlay=r --modcacherw': ELSEWHERE,
      '--ldflags= --gcflags= --asmflags= --gccgoflags= --compiler= --w': SETTINGS,
    },
  },
  cargo: {
    options:
      '-qvVhr -j= -p= -F= --all --all-features --all-targets --benches --bench= --bin= --bins --check --color= --doc --document-private-items --edges= --example= --examples --exclude= --features= --format-version= --frozen --help --ignore-rust-version --invert= --jobs= --keep-going --lib --list --locked --message-format= --no-default-features --no-deps --no-fail-fast --no-run --offline --package= --profile= --quiet --release --target= --test= --tests --verbose --version --workspace --depth= --prefix= --duplicates -d -i= -e=',
    hazards: {
      '--config= -Z= -C=': SETTINGS,
      '--manifest-path=r': ELSEWHERE,
      '--target-dir=w --out-dir=w --artifact-dir=w': 'writes files to another directory',
    },
  },
  npm: {
    options:
      '-sdDgEOPqv -w= --all --audit-level= --color? --depth= --dry-run --if-present --ignore-scripts --include= --json --legacy-peer-deps --link --long --loglevel= --no-audit --no-color --no-fund --no-optional --no-package-lock --no-progress --no-save --no-update-notifier --offline --omit= --only= --package-lock-only --parseable --prefer-dedupe --prefer-offline --production --progress= --quiet --save --save-dev --save-exact --save-optional --save-peer --save-prod --silent --strict-peer-deps --tag= --verbose --version --workspace= --workspaces --include-workspace-root --force -f --access= --otp= --help -h',
    hazards: {
      '--script-shell= --shell= --node-options= --scripts-prepend-node-path? --git= --editor= --viewer= --browser=':
        RUNS,
      '-C= --prefix= --userconfig= --globalconfig= --cache= --init-module= --location=': SETTINGS,
      '--registry= --proxy= --https-proxy=': 'takes packages from another server',
    },
  },
  yarn: {
    options:
      '-sDEOPTW --frozen-lockfile --immutable --silent --production --dev --exact --json --verbose --version --offline --prefer-offline --check-files --ignore-scripts --ignore-engines --no-progress --non-interactive --mode= --all -A -v -h --help --pure-lockfile --no-lockfile --force',
    hazards: {
      '--cwd= --use-yarnrc= --modules-folder=w --cache-folder=w': SETTINGS,
      '--registry= --proxy= --https-proxy=': 'takes packages from another server',
    },
  },
  pnpm: {
    options:
      '-rDEOPwsgF -F= --filter= --recursive --frozen-lockfile --no-frozen-lockfile --prod --dev --silent --json --offline --prefer-offline --ignore-scripts --workspace-root --parallel --stream --if-present --version --lockfile-only --no-bail --workspace-concurrency= --depth= --long -v --help -h --aggregate-output --reporter= --save-dev --save-exact',
    hazards: {
      '-C= --dir= --script-shell= --shell-mode -c --shell --config?': SETTINGS,
      '--registry=': 'takes packages from another server',
    },
  },
  curl: {
    options:
      '-sSfLIivgGNqa#46 -X= -H= -m= -d= -A= -e= -u= -b= -r= -y= -Y= -w= -z= --silent --show-error --fail --fail-with-body --fail-early --location --head --include --verbose --request= --header= --max-time= --connect-timeout= --retry= --retry-delay= --retry-max-time= --retry-all-errors --retry-connrefused --get --data= --data-raw= --data-urlencode= --json= --user-agent= --referer= --user= --compressed --cookie= --range= --url= --url-query= --http1.1 --http2 --http1.0 --http3 --ipv4 --ipv6 --globoff --max-redirs= --max-filesize= --no-progress-meter --progress-bar --no-buffer --write-out= --tlsv1.2 --tlsv1.3 --ssl-reqd --no-keepalive --oauth2-bearer= --path-as-is --post301 --post302 --proto= --proto-redir= --version --help?',
    hazards: {
      '-o=w --output=w --output-dir=w -O --remote-name --remote-name-all -J --remote-header-name -D=w --dump-header=w -c=w --cookie-jar=w --trace=w --trace-ascii=w --stderr=w --etag-save=w --hsts=w --alt-svc=w --libcurl=w --create-dirs':
        WRITES,
      '-T=r --upload-file=r -F= --form= --form-string= --data-binary= --data-ascii= -K=r --config=r -n --netrc --netrc-file=r --cert=r -E=r --key=r --cacert=r --capath=r --etag-compare=r':
        'reads a local file',
      '-x= --proxy= --preproxy= --socks4= --socks5= --socks5-hostname= --connect-to= --resolve= --unix-socket= --abstract-unix-socket= --interface= --dns-servers= --doh-url=':
        'sends the request somewhere else',
      '-k --insecure --proxy-insecure': 'does not verify the server',
      '-Q= --quote= --telnet-option= -t= --engine=': 'sends other commands to the server',
    },
  },
  wget: {
    options:
      '-qvScN46 -O= -T= -t= -U= -w= --quiet --verbose --server-response --spider --output-document= --timeout= --tries= --user-agent= --header= --max-redirect= --method= --no-verbose --https-only --wait= --retry-connrefused --version --help -nv',
    hazards: {
      '-P=w --directory-prefix=w -o=w --output-file=w -a=w --append-output=w --save-cookies=w --warc-file=w':
        WRITES,
      '-i=r --input-file=r --post-file=r --body-file=r --load-cookies=r --config=r --private-key=r':
        'reads a local file',
      '-e= --execute= --use-askpass=': SETTINGS,
      '-r --recursive -m --mirror -p --page-requisites -x --force-directories': WRITES,
    },
  },
  ssh: {
    stops: true,
    options: '-46aCgknNqTtvVxX -l= -p= -c= -m=',
    hazards: {
      '-o= -F=r -S= -I= -P=': SETTINGS,
      '-D= -L= -R= -W= -J= -w= -A -Y -f': 'opens a tunnel',
      '-E=w': WRITES,
      '-i=r': 'reads a key',
    },
  },
  scp: {
    options: '-346BCpqrTv -P= -l= -c=',
    hazards: { '-o= -F=r -S= -D= -X=': SETTINGS, '-J=': 'opens a tunnel', '-i=r': 'reads a key' },
    operands: 'copy',
  },
  rsync: {
    options:
      '-avzrnhPiutpogDlLHcxWS0 --archive --verbose --compress --recursive --dry-run --human-readable --progress --partial --stats --itemize-changes --update --times --perms --links --checksum --delete --exclude= --include= --size-only --ignore-existing --bwlimit= --info= --version --help --quiet -q --list-only --timeout= --max-size= --min-size= --no-owner --no-group',
    hazards: {
      '-e= --rsh= --rsync-path= --daemon --config= -M= --remote-option= --sockopts= --early-input=': RUNS,
      '--log-file=w --write-batch=w --only-write-batch=w --backup-dir=w --temp-dir=w -T=w --partial-dir=w':
        WRITES,
      '--files-from=r --exclude-from=r --include-from=r --read-batch=r --password-file=r':
        'reads a local file',
      '-k --copy-dirlinks -K --keep-dirlinks --copy-unsafe-links': 'follows links out of its directories',
    },
    operands: 'copy',
  },
}

/** The allowed first operands of these programs. */
export const KNOWN_SUBCOMMANDS: Readonly<Record<string, readonly string[]>> = {
  npm: 'run run-script test t tst start stop restart ci install i install-test it uninstall un remove ls list ll la view info show outdated audit fund explain why ping prune dedupe rebuild version whoami doctor query pkg search help pack publish update up link'.split(
    ' ',
  ),
  yarn: 'run test start build lint install add remove list info why outdated audit workspaces workspace check versions help upgrade up dedupe format typecheck dev'.split(
    ' ',
  ),
  pnpm: 'run test t start install i add remove rm list ls why outdated audit build lint format typecheck dev update up prune rebuild licenses root'.split(
    ' ',
  ),
  cargo:
    'test t build b check c run r clippy fmt doc d bench tree metadata version clean update search fetch verify-project locate-project pkgid nextest help'.split(
      ' ',
    ),
  go: 'test build vet fmt list version mod env doc help clean'.split(' '),
}

/** Programs that exist to run other programs or code: their effects cannot be known. */
export const ALWAYS_DOUBTED: Readonly<Record<string, string>> = Object.fromEntries([
  ...names('npx bunx uvx pnpx pipx dlx', 'fetches and runs a package'),
  ...names(
    'ed ex vi vim nvim view emacs nano pico red',
    'is an editor, which can run programs and write files',
  ),
  ...names(
    'gdb lldb strace ltrace perf script expect unbuffer socat nc ncat netcat entr',
    'runs another program',
  ),
  ...names('osascript powershell pwsh tclsh wish guile ghci irb pry iex rlwrap', 'runs code'),
  ...names('at batch crontab systemd-run', 'runs programs later'),
  ...names('screen tmux', 'runs programs in another session'),
  ...names('dd', 'writes to any file or device'),
])

function names(list: string, reason: string): [string, string][] {
  return list.split(' ').map((name) => [name, `${name} ${reason}`])
}
