import type { Word } from './analysis.js'
import { commandTable, ownArguments } from './command-table.js'
import { type ParsedOptions, parseOptions } from './option-table.js'
import { isHarmlessSedScript } from './sed-script.js'

/** Hazards that the option tables cannot express: in operands, in values, or in something that is missing. */
export function hazardChecks(name: string, args: readonly Word[]): string[] {
  const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined
  if (!check) return []
  const table = commandTable(name)
  const parsed = table ? parseOptions(table, ownArguments(name, args)) : { options: [], operands: args }
  const doubt = check(parsed, args)
  return doubt === undefined ? [] : [doubt]
}

type Check = (parsed: ParsedOptions, args: readonly Word[]) => string | undefined

const CHECKS: Readonly<Record<string, Check>> = {
  uniq: secondFileIsWritten('uniq'),
  xxd: secondFileIsWritten('xxd'),
  sed: sedScripts,
  gsed: sedScripts,
  awk: awkProgram,
  gawk: awkProgram,
  mawk: awkProgram,
  nawk: awkProgram,
  less: pagerCommand,
  more: pagerCommand,
  node: codeFromInput('node'),
  python: (parsed, args) =>
    pythonModule(args) ?? (has(parsed, '-m') ? undefined : codeFromInput('python')(parsed, args)),
  perl: codeFromInput('perl'),
  ruby: codeFromInput('ruby'),
  php: codeFromInput('php'),
  lua: codeFromInput('lua'),
  deno: firstOperandRunsCode('deno'),
  bun: firstOperandRunsCode('bun'),
  uv: firstOperandRunsCode('uv'),
  make: ({ operands }) =>
    staticOperand(
      operands,
      (value) => value.includes('='),
      'make sets a variable, which can name programs to run',
    ),
  cargo: ({ operands }) =>
    staticOperand(operands.slice(0, 1), (value) => value.startsWith('+'), 'cargo picks another toolchain'),
  curl: curlValues,
  wget: ({ options }) =>
    options.some(
      ({ name, value }) =>
        name === '--spider' || (/^(-O|--output-document)$/.test(name) && value?.value === '-'),
    )
      ? undefined
      : 'wget writes a file',
  tar: ({ options }) =>
    options.some(({ name, value }) => /^(-f|--file)$/.test(name) && value?.value?.includes(':'))
      ? 'tar opens an archive on another machine through another program'
      : undefined,
  openssl: (_, args) =>
    args.some(
      ({ value }) =>
        value !== undefined && /^-{1,2}(out|config|engine|provider|sign|keyout|writerand|CA)/.test(value),
    ) || !/^(version|rand|dgst|x509|ciphers|list)$/.test(args[0]?.value ?? '')
      ? 'openssl writes files, opens connections or loads modules'
      : undefined,
  printf: variableTarget('printf', /^-v/),
  test: variableTarget('test', /^-[vR]$/),
  '[': variableTarget('[', /^-[vR]$/),
  wait: variableTarget('wait', /^-[nf]*p/),
  jobs: (_, args) =>
    args.some(({ value }) => value?.startsWith('-x')) ? 'jobs -x runs another program' : undefined,
  'git config': (_, args) =>
    args.some(({ value }) => value !== undefined && /^(-l|--list|--get|--get-all|--get-regexp)$/.test(value))
      ? undefined
      : 'git config changes settings, which can run programs',
}

function has(parsed: ParsedOptions, ...names: readonly string[]): boolean {
  return parsed.options.some((option) => names.includes(option.name))
}

function staticOperand(
  operands: readonly Word[],
  test: (value: string) => boolean,
  doubt: string,
): string | undefined {
  return operands.some(({ value }) => value !== undefined && test(value)) ? doubt : undefined
}

function secondFileIsWritten(name: string): Check {
  return ({ operands }) => (operands.length > 1 ? `${name} writes its second file` : undefined)
}

function sedScripts({ options, operands }: ParsedOptions): string | undefined {
  const given = options.flatMap((option) => (/^(-e|--expression)$/.test(option.name) ? [option.value] : []))
  const inFile = options.some((option) => /^(-f|--file)$/.test(option.name))
  const scripts = given.length > 0 || inFile ? given : operands.slice(0, 1)
  // Sed joins several scripts into one: a later script can continue an earlier one.
  const script = scripts.map((word) => word?.value ?? '').join('\n')
  return isHarmlessSedScript(script) ? undefined : 'the sed script may write files or run programs'
}

function awkProgram({ options, operands }: ParsedOptions): string | undefined {
  if (options.some((option) => /^(-f|--file)$/.test(option.name))) return undefined
  const program = operands[0]?.value ?? ''
  // Strings and regular expressions are not distinguished from code, because their beginning is ambiguous in awk.
  const writes = /\bprintf?\b/.test(program) && />(?!=)/.test(program)
  const runs = /\bsystem\b|\bgetline\b|\bARG[VC]\b|@|(?<!\|)\|(?!\|)|\\/.test(
    program.replaceAll(/\\[nt.\\/"$]/g, ''),
  )
  return writes || runs ? 'the awk program may write files or run programs' : undefined
}

function pagerCommand({ operands }: ParsedOptions): string | undefined {
  return staticOperand(operands, (value) => value.startsWith('+'), 'the pager is given a command to run')
}

function codeFromInput(name: string): Check {
  return ({ options, operands }) => {
    const answersItself = options.some((option) =>
      /^(-v|-V|-h|--version|--help|--test|-i|-l|-m|--info)$/.test(option.name),
    )
    const [script] = operands
    return (script === undefined && !answersItself) || script?.value === '-'
      ? `${name} takes code from its input`
      : undefined
  }
}

function pythonModule(args: readonly Word[]): string | undefined {
  const at = args.findIndex(({ value }) => value !== undefined && /^-[a-zA-Z]*m$/.test(value))
  const module = at < 0 ? undefined : args[at + 1]?.value
  return module !== undefined &&
    /^(timeit|code|pdb|runpy|cProfile|profile|trace|idlelib|ensurepip|zipapp)$/.test(module)
    ? `python -m ${module} runs code given as an argument`
    : undefined
}

function firstOperandRunsCode(name: string): Check {
  return (_, args) =>
    args.some(
      ({ value }) =>
        value !== undefined && /^(-e|-p|-r|--eval|--print|--preload|eval|repl|x|exec|dlx|tool)$/.test(value),
    )
      ? `${name} runs code or a package given as an argument`
      : name === 'uv' && args[0]?.value === 'run'
        ? 'uv run runs another program'
        : undefined
}

function curlValues({ options, operands }: ParsedOptions): string | undefined {
  for (const { name, value } of options) {
    const text = value?.value ?? ''
    const isData =
      /^(-d|--data|--data-urlencode|--json|-H|--header|-b|--cookie|--url-query|-w|--write-out|--url|-z)$/.test(
        name,
      )
    if (isData && text.includes('@') && !/^(-H|--header|--data-raw|--url)$/.test(name))
      return `curl ${name} may read a local file`
    if (/^(-H|--header|--url)$/.test(name) && text.startsWith('@')) return `curl ${name} reads a local file`
    if (/^(-b|--cookie)$/.test(name) && !text.includes('=')) return `curl ${name} reads a local file`
    if (/^(-w|--write-out)$/.test(name) && text.includes('%output')) return `curl ${name} writes a file`
  }
  const urls = [
    ...operands,
    ...options.flatMap(({ name, value }) => (name === '--url' && value ? [value] : [])),
  ]
  return staticOperand(
    urls,
    (value) =>
      /[{}[\]\\\s]/.test(value) ||
      (/^[a-z][\w+.-]*:/i.test(value) && !/^(https?:\/\/|[\w.-]+:\d+(\/|$))/i.test(value)),
    'curl is given an address that is not plainly http or https',
  )
}

function variableTarget(name: string, option: RegExp): Check {
  return (_, args) =>
    args.some(({ value }) => value !== undefined && option.test(value))
      ? `bash evaluates the variable name that is given to ${name}`
      : undefined
}
