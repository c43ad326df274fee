// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are shell expansions

/** Random bash scripts that call marker commands (`m0` … `m9`) in every place where bash can run a command. */

export const MARKERS: readonly string[] = Array.from({ length: 10 }, (_, digit) => `m${digit}`)
/** The marker that a policy denies. */
export const DENIED = 'm9'
/**
 * What is in the directory of every script: `f9` to read, and files that a policy denies to read (`r`) or to write
 * (`w`).
 */
export const GIVEN_FILES: Readonly<Record<string, string>> = {
  f9: 'nine\n',
  r0: 'secret zero\n',
  r1: 'secret one\n',
  'd1/r2': 'secret two\n',
  w0: 'zero\n',
  'd1/w1': 'one\n',
}
/** Real programs: wrappers, and readers of files. */
export const REAL_PROGRAMS: readonly string[] = [
  ...['env', 'bash', 'nice', 'timeout', 'xargs', 'nohup', 'setsid', 'stdbuf'],
  ...['linux64', 'setarch', 'choom', 'flock', 'taskset', 'ionice', 'chrt', 'setpriv', 'prlimit', 'find'],
  ...['cat', 'fmt', 'head', 'sort', 'od'],
]

/** Real programs that make, change or remove the files they are given. No policy allows them by name. */
export const WRITERS: readonly string[] = [
  ...['cp', 'mv', 'ln', 'rm', 'tee', 'touch', 'dd', 'sed', 'truncate', 'install', 'mkdir', 'unlink'],
]

export type Random = () => number

/** A small seeded generator (mulberry32), so that a failure can be repeated. */
export function seeded(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** Some scripts are damaged and some are mere soup, so that what bash makes of odd text is compared too. */
export function randomScript(random: Random): string {
  const kind = random()
  if (kind < 0.2) return soup(random)
  const damaged = kind < 0.35
  // Damage may turn a loop or a function into one that never ends.
  const script = new Grammar(random, { loops: !damaged, calm: random() < 0.5 }).list(
    1 + Math.floor(random() * 3),
  )
  return (damaged ? damage(script, random) : script).replace(/\n+$/, '')
}

/** Tokens in any order. None of them can leave the directory or run forever. */
function soup(random: Random): string {
  let text = ''
  for (let count = 2 + Math.floor(random() * 12); count > 0; count--) {
    text += TOKENS[Math.floor(random() * TOKENS.length)] ?? ''
  }
  return text.replace(/\n+$/, '')
}

const TOKENS: readonly string[] = [
  ...[...MARKERS, ...MARKERS].map((name) => `${name} `),
  ...MARKERS,
  ...[
    ' ',
    ' ',
    '\n',
    '\n',
    ';',
    ';',
    '&',
    '|',
    '&&',
    '||',
    '(',
    ')',
    '$(',
    ')',
    '`',
    '`',
    '"',
    '"',
    "'",
    "'",
    '\\',
    '<(',
    ')',
    '>(',
  ],
  ...[
    '#',
    ' # ',
    '{ ',
    '; }',
    '<<E\n',
    '\nE\n',
    "<<'E'\n",
    '${x:-',
    '}',
    '$((',
    '))',
    '[[ ',
    ' ]]',
    '=',
    'x=',
    'x=(',
    '! ',
    '~',
    '*',
  ],
  ...[
    '< f9 ',
    '> f1 ',
    '<<<',
    "$'",
    '$"',
    'if ',
    '; then ',
    '; fi',
    'case a in a) ',
    ';; esac',
    'for i in a; do ',
    '; done',
    'time ',
  ],
  ...[
    'coproc ',
    '2>&1 ',
    '\t',
    '$x',
    '{a,',
    'CI=1 ',
    '\\\n',
    '<',
    '>',
    '[',
    ']',
    '$[',
    '@(',
    '-',
    'eval ',
    'bash -c ',
    'env ',
    '|&',
    '&>',
  ],
]

function damage(script: string, random: Random): string {
  const chars = [...script]
  for (let times = 1 + Math.floor(random() * 3); times > 0; times--) {
    const at = Math.floor(random() * chars.length)
    const other = chars[Math.floor(random() * chars.length)] ?? ' '
    const kind = random()
    if (kind < 0.4) chars.splice(at, 1)
    else if (kind < 0.7) chars.splice(at, 0, other)
    else chars[at] = other
  }
  return chars.join('')
}

class Grammar {
  readonly #random: Random
  readonly #loops: boolean
  /** Only what can be understood in full, so that what is seen can be compared word by word. */
  readonly #calm: boolean
  #here = 0
  #pending: string[] = []

  constructor(random: Random, { loops, calm }: { readonly loops: boolean; readonly calm: boolean }) {
    this.#random = random
    this.#loops = loops
    this.#calm = calm
  }

  list(depth: number): string {
    const parts: string[] = []
    for (let count = 1 + this.#below(2); count > 0; count--) {
      const pipeline = this.#andOr(depth)
      const end = this.#pick(['; ', '\n', ' &\n', '\n', ' # m9; m8\n', ';'])
      if (this.#pending.length > 0) {
        parts.push(`${pipeline}\n${this.#pending.join('')}`)
        this.#pending = []
      } else parts.push(`${pipeline}${end}`)
    }
    return parts.join('')
  }

  #andOr(depth: number): string {
    let text = this.#pipeline(depth)
    while (this.#random() < 0.3)
      text += `${this.#pick([' && ', ' || ', '&&', '||', ' &&\n'])}${this.#pipeline(depth)}`
    return text
  }

  #pipeline(depth: number): string {
    const prefix = this.#pick(['', '', '', '', '', '! ', 'time ', 'time -p ', '! ! '])
    let text = `${prefix}${this.#command(depth)}`
    while (this.#random() < 0.2) text += `${this.#pick([' | ', '|', ' |& '])}${this.#command(depth)}`
    return text
  }

  #command(depth: number): string {
    if (depth <= 0 || this.#random() < 0.5) return this.#simple(depth)
    const below = depth - 1
    const compound: (() => string)[] = [
      () => `( ${this.#body(below)} )`,
      () => `(${this.#simple(below)})`,
      () => `{ ${this.#body(below)} }`,
      () => `if ${this.#body(below)} then ${this.#body(below)} else ${this.#body(below)} fi`,
      () =>
        `if ${this.#body(below)} then ${this.#body(below)} elif ${this.#body(below)} then ${this.#body(below)} fi`,
      () =>
        `case ${this.#word(below)} in ${this.#pick(['a', '*', '"b"', '(a|*)', `a|${this.#substitution(below)}`])}) ${this.#body(below)} ${this.#pick([';;', ';&', ';;&'])} *) ${this.#body(below)} ;; esac`,
      () => `for i in ${this.#word(below)} ${this.#word(below)}; do ${this.#body(below)} done`,
      () => `[[ ${this.#quotedWord(below)} == ${this.#quotedWord(below)} ]]`,
      () => `[[ -n ${this.#quotedWord(below)} && ${this.#quotedWord(below)} < z ]]`,
      () => `(( 1 + ${this.#substitution(below)}0 ))`,
      () => `coproc { ${this.#body(below)} }`,
      () => `coproc ${this.#simple(below)}`,
      () => `{ ${this.#body(below)} } > f${this.#below(3)}`,
      () => `( ${this.#body(below)} ) < <(${this.#simple(below)})`,
    ]
    if (this.#loops) {
      compound.push(
        () => `while ${this.#body(below)} do ${this.#body(below)} break; done`,
        () => `until ${this.#body(below)} do ${this.#body(below)} break; done`,
        () => `f${this.#below(3)}() { ${this.#body(below)} }; f${this.#below(3)}`,
        () => `f0() { ${this.#body(below)} } ${this.#fileRedirection()}; f0`,
        () => `f1() ( ${this.#body(below)} ) ${this.#fileRedirection()}; f1`,
        () => `for ((j = ${this.#substitution(below)}0; j < 1; j++)); do ${this.#body(below)} done`,
        () => `select i in ${this.#word(below)}; do break; done`,
        () => `function g${this.#below(3)} { ${this.#body(below)} }; g${this.#below(3)}`,
        () => `for ((j = 0; j < 2; j++)); do ${this.#body(below)} done`,
        () => `select i in a; do ${this.#body(below)} break; done`,
      )
    }
    const text = this.#pick(compound)()
    // Every compound takes redirections; a coprocess of a simple command has its own.
    return this.#random() < 0.25 ? `${text} ${this.#fileRedirection()}` : text
  }

  /** A redirection that opens a file and needs no text of its own. */
  #fileRedirection(): string {
    const file = this.#pick([
      `f${this.#below(3)}`,
      `"f${this.#below(3)}"`,
      `./f${this.#below(3)}`,
      `d1/f${this.#below(3)}`,
      `d1/../f${this.#below(3)}`,
      ...(this.#calm ? [] : ['$x', `f{1,2}`, 'f[9]', '"`echo f1`"']),
      // Damaged, these would lead out of the directory.
      ...(this.#calm || !this.#loops ? [] : ['"$HOME/f1"', '~/f2']),
    ])
    const secret = this.#pick(['r0', 'r1', './r0', 'd1/r2', "'r1'", 'd1/../r0'])
    const held = this.#pick(['w0', './w0', 'd1/w1', '"w0"', 'd1/../w0', 'w5'])
    return this.#pick([
      `> ${file}`,
      `>${file}`,
      `>> ${file}`,
      `>| ${file}`,
      `&> ${file}`,
      `&>> ${file}`,
      `>& ${file}`,
      `<> ${file}`,
      `2> ${file}`,
      `3> ${file}`,
      `{fd}> ${file}`,
      `> ${file} 2>&1`,
      `> ${held}`,
      `>> ${held}`,
      `<> ${held}`,
      `2>| ${held}`,
      `< ${secret}`,
      `3< ${secret}`,
      `<> ${secret}`,
      '2>&1',
      '> /dev/null',
      '< f9',
    ])
  }

  /** A program that reads a file. */
  #reader(): string {
    const program = this.#pick([
      'cat',
      'fmt',
      'head -1',
      'sort',
      'od -c',
      'env fmt',
      'nice cat',
      'linux64 fmt',
      'timeout 5 head',
    ])
    return `${program} ${this.#pick(['f9', 'r0', 'r1', './r0', 'd1/r2', 'd1/../r1', '"r0"', "r'1'", '-- r0', ...(this.#calm ? [] : ['r*', 'r?', '$x', '"${x:-r0}"', 'r{0,1}', '$(echo r0)'])])}`
  }

  /** A program that writes a file, most often one that must not be written. */
  #writer(): string {
    // Damaged, a path could become one outside the directory.
    if (!this.#loops) return `touch w${this.#below(2)}`
    const file = this.#pick([
      ...['w0', './w0', 'd1/w1', '"w0"', "w'0'", 'd1/../w0', 'w5', 'f1'],
      ...(this.#calm ? [] : ['w*', 'w?', '$x', '"${x:-w0}"', 'w{0,5}', '$(echo w0)', '"$HOME/w0"', '~/w0']),
    ])
    const before = this.#pick(['', '', '', 'env ', 'nice ', 'timeout 5 ', 'command ', 'linux64 '])
    return `${before}${this.#pick([
      `cp f9 ${file}`,
      `cp -f -- f9 ${file}`,
      `mv ${file} f2`,
      `mv -f f9 ${file}`,
      `ln -f f9 ${file}`,
      `ln -sf f9 ${file}`,
      `rm -f ${file}`,
      `unlink ${file}`,
      `tee ${file}`,
      `tee -a f1 ${file}`,
      `touch ${file}`,
      `dd if=f9 of=${file}`,
      `sed -i s/e/a/ ${file}`,
      `sed -n 'w w0' f9`,
      `truncate -s 1 ${file}`,
      `install f9 ${file}`,
      `mkdir -p ${file}`,
      `sort -o ${file} f9`,
      `sort f9 --output=${file}`,
      `find ${file} -delete`,
      `find f9 -fprint w0`,
      `xargs touch ${file}`,
    ])}`
  }

  /** A list that can stand before a keyword. */
  #body(depth: number): string {
    const saved = this.#pending
    this.#pending = []
    const text = this.list(depth)
    this.#pending = saved
    return /[;\n]\s*$/.test(text) ? text : `${text};`
  }

  #simple(depth: number): string {
    const parts: string[] = []
    if (this.#random() < 0.1) parts.push(this.#assignment(depth))
    if (this.#random() < 0.06) parts.push(this.#redirection(depth))
    parts.push(this.#random() < 0.2 ? this.#special(depth) : this.#name(depth))
    for (let count = this.#below(3); count > 0; count--) parts.push(this.#word(depth))
    if (this.#random() < 0.15) parts.push(this.#redirection(depth))
    return parts.join(this.#pick([' ', ' ', ' ', '\t', ' \\\n ']))
  }

  #name(depth: number): string {
    const digit = this.#below(10)
    return this.#pick([
      ...Array.from({ length: 8 }, () => () => `m${digit}`),
      () => `m"${digit}"`,
      () => `'m${digit}'`,
      () => `"m"'${digit}'`,
      () => `m\\${digit}`,
      () => `m\\\n${digit}`,
      () => `$'m${digit}'`,
      () => `$'\\x6d${digit}'`,
      () => `$'\\155'${digit}`,
      () => `""m${digit}''`,
      ...(this.#calm
        ? []
        : [
            () => `{m${digit},a}`,
            () => `$"m${digit}"`,
            () => `\${x:-m${digit}}`,
            () => `$(echo m${digit})`,
            () => `\`echo m${digit}\``,
            () => `[${this.#word(depth)}`,
            () => `echo`,
            () => `true`,
          ]),
    ])()
  }

  /** Builtins and wrappers that run what they are given. */
  #special(depth: number): string {
    const digit = this.#below(10)
    const script = this.#single(this.#flat(depth))
    return this.#pick([
      () => `bash -c ${script}`,
      () => `bash -euc ${script}`,
      () => `command m${digit}`,
      () => `env m${digit}`,
      () => `env -i m${digit}`,
      () => `nice -n 1 m${digit}`,
      () => `nice m${digit}`,
      () => `timeout 5 m${digit}`,
      () => `timeout -k 1 5s env m${digit}`,
      () => `nohup m${digit}`,
      () => `setsid -w m${digit}`,
      () => `stdbuf -oL m${digit}`,
      () => `xargs -n 1 env m${digit}`,
      () => `time m${digit}`,
      () => `linux64 m${digit}`,
      () => `setarch x86_64 m${digit}`,
      () => `choom -n 0 m${digit}`,
      () => `choom -n 0 -- env m${digit}`,
      () => `flock d1 m${digit}`,
      () => `flock d1 -c ${script}`,
      () => `taskset 1 m${digit}`,
      () => `ionice -c 3 m${digit}`,
      () => `chrt -o 0 m${digit}`,
      () => `setpriv --no-new-privs m${digit}`,
      () => `prlimit --nofile=64 m${digit}`,
      () => `linux64 bash -c ${script}`,
      () => `find f9 -exec m${digit} {} \\;`,
      () => this.#reader(),
      () => this.#reader(),
      () => this.#reader(),
      () => this.#writer(),
      () => this.#writer(),
      () => this.#writer(),
      () => `cd d1 && touch w1`,
      () => `cd d1 && rm -f ../w0`,
      () => `{ cd d1; touch w1; }`,
      () => `read v < r0`,
      () => `mapfile v < ${this.#pick(['r0', 'd1/r2'])}`,
      () => `cd d1 && fmt r2`,
      () => `cd d1 && cat ../r0`,
      () => `true ${this.#fileRedirection()}`,
      () => `cd d1 ${this.#fileRedirection()}`,
      () => `cd d1 && m${digit}`,
      () => `cd d1 && m${digit} && cd ..`,
      () => `cd d2 || m${digit}`,
      () => `{ cd d1 || exit 3; } && m${digit}`,
      () => `! cd d2 && m${digit}`,
      () => `command cd d1 && m${digit}`,
      () => `pushd d1 && m${digit}`,
      ...(this.#calm
        ? []
        : [
            () => `eval ${script}`,
            () => `eval m${digit}`,
            () => `trap ${script} EXIT`,
            () => `exec m${digit}`,
            () => `exec ${this.#fileRedirection()}`,
            () => `echo "$(< r0)"`,
            () => `. r0`,
            () => `source ./r1`,
            () => `printf w0 | xargs touch`,
            () => `x=w0; touch $x`,
            () => `builtin eval ${script}`,
            () => `env X=1 -u Y m${digit}`,
            () => `xargs m${digit}`,
            () => `bash <<< ${script}`,
            () => `x=m${digit}; $x`,
            () => `x=m${digit}; "\${x}"`,
            () => `x='a[$(m${digit})]'; (( x ))`,
            () => `x='a[$(m${digit})]'; echo $((x))`,
            () => `test -v 'a[$(m${digit})]'`,
            () => `[[ -v 'a[$(m${digit})]' ]]; true`,
            () => `[[ 'a[$(m${digit})]' -eq 0 ]]; true`,
            () => `printf -v 'a[$(m${digit})]' y; true`,
            () => `declare 'a[$(m${digit})]=1'; true`,
            () => `read 'a[$(m${digit})]' <<< y; true`,
            () => `let 'a[$(m${digit})]'; true`,
            () => `unset 'a[$(m${digit})]'; true`,
            () => `x='$(m${digit})'; echo \${x@P}`,
            () => `alias a=m${digit}; a`,
            () => `hash -p m${digit} a; true`,
            () => `set -- m${digit}; "$@"`,
            () => `set -- m${digit}; $1`,
            () => `shopt -s extglob; true`,
            () => `a=(m${digit} b); "\${a[0]}"`,
            () => `PATH=$PATH m${digit}`,
            () => `IFS=x m${digit}`,
            () => `export Z=$(m${digit}); true`,
            () => `!(m${digit})`,
            () => `. f1; true`,
            () => `jobs -x m${digit}; true`,
          ]),
    ])()
  }

  #assignment(depth: number): string {
    if (this.#calm) return 'CI=1'
    return this.#pick([
      () => `CI=1`,
      () => `v=${this.#word(depth)}`,
      () => `v+=${this.#substitution(depth)}`,
      () => `v[${this.#substitution(depth)}0]=1`,
      () => `v=(${this.#word(depth)} ${this.#word(depth)})`,
    ])()
  }

  #redirection(depth: number): string {
    return this.#pick([
      () => this.#fileRedirection(),
      () => this.#fileRedirection(),
      () => `2>&1`,
      () => `&> f${this.#below(3)}`,
      () => `>> "f${this.#below(3)}${this.#random() < 0.2 ? this.#substitution(depth) : ''}"`,
      () => `< f9`,
      () => `<<< ${this.#quotedWord(depth)}`,
      () => `< <(${this.#flat(depth)})`,
      () => `< <(${this.#flat(depth)})${this.#pick(['a', '#', '"b"', '', ''])}`,
      () => `> >(${this.#flat(depth)})`,
      () => `{fd}> f1`,
      () => this.#hereDocument(depth),
    ])()
  }

  #hereDocument(depth: number): string {
    // A second one inside a nested text would end up in the wrong place.
    if (this.#pending.length > 0 || depth < 2) return '< f9'
    const end = `E${this.#here++}`
    const quoted = this.#random() < 0.4
    const dash = this.#random() < 0.3 ? '-' : ''
    const tab = dash ? '\t' : ''
    this.#pending.push(
      `${tab}a ${this.#substitution(0)} b\n${tab}$(m${this.#below(10)}) \\$(m9) 'x'\n${tab}${end}\n`,
    )
    return `<<${dash}${quoted ? `'${end}'` : end}`
  }

  #word(depth: number): string {
    return this.#pick([
      () => 'a',
      () => 'm1',
      () => '-x',
      () => 'a#m2',
      () => '"a b"',
      () => "'$(m3)'",
      () => "'; m4;'",
      () => '"\\$(m5)"',
      () => '"; m6"',
      () => '\\;',
      () => '\\$a',
      () => 'a\\ b',
      () => '"a\\\nb"',
      () => "$'\\n\\t\\'x'",
      ...(this.#calm
        ? []
        : [
            () => '*',
            () => '~',
            () => '{a,b}',
            () => '$x',
            () => '"$x"',
            () => '${x}',
            () => '$((1 + 1))',
            () => '"`m7`"',
            () => this.#substitution(depth),
            () => `"${this.#substitution(depth)}"`,
            () => `a${this.#substitution(depth)}b`,
          ]),
    ])()
  }

  #quotedWord(depth: number): string {
    return this.#pick([() => 'a', () => '"b"', () => `"${this.#substitution(depth)}"`, () => '"$x"'])()
  }

  #substitution(depth: number): string {
    if (depth <= 0) return `$(m${this.#below(10)})`
    const below = depth - 1
    const flat = this.#flat(below)
    return this.#pick([
      () => `$(${flat})`,
      () => `$( ${flat} )`,
      () => `$(\n${flat}\n)`,
      () => `$( (${flat}) )`,
      () => `\`${flat.replaceAll(/[\\`]/g, '\\$&')}\``,
      () => `\${x:-$(${flat})}`,
      () => `\${x-\`m${this.#below(10)}\`}`,
      () => `\${x:+$(m9)}`,
      () => `\${HOME/a/$(${flat})}`,
      () => `\${HOME#$(${flat})}`,
      () => `\${HOME%%"$(${flat})"}`,
      () => `\${HOME:$(m${this.#below(10)})0}`,
      () => `\${q[$(m${this.#below(10)})0]}`,
      () => `$((1 + $(m${this.#below(10)})0))`,
      () => `$[1 + $(m${this.#below(10)})0]`,
      () => `$(case a in a) ${flat} ;; esac)`,
      () => `$(# comment )\n${flat}\n)`,
      () => `<(${flat})`,
      () => `$(cat <(${flat}))`,
    ])()
  }

  /** A list without here-documents, to stand inside a word. */
  #flat(depth: number): string {
    const saved = this.#pending
    this.#pending = ['']
    const text = this.#andOr(Math.max(0, depth - 1))
    this.#pending = saved
    return text
  }

  #single(text: string): string {
    return `'${text.replaceAll("'", "'\\''")}'`
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  #pick<Item>(items: readonly Item[]): Item {
    const item = items[this.#below(items.length)]
    if (item === undefined) throw new Error('nothing to pick from')
    return item
  }
}
