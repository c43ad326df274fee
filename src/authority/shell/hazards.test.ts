import { describe, expect, it } from 'vitest'
import { analyzeCommand } from './analyze-command.js'
import { HAZARD_TABLE, SAME_TABLE } from './hazard-table.js'
import { DEV_TABLE, KNOWN_SUBCOMMANDS } from './hazard-table-dev.js'
import { GIT_GLOBAL, GIT_SUBCOMMANDS } from './hazard-table-git.js'
import { WRAPPERS } from './wrapper-table.js'

describe('hazards', () => {
  it.each([
    ['git log --output=f', 'git log --output writes a file'],
    ["git log --format='%h %G?'", 'git log checks signatures with another program'],
    ['git show --pretty=format:%GS', 'git show checks signatures with another program'],
    ["git branch --format '%(signature:grade)'", 'git branch checks signatures with another program'],
    ['git log --outp f', 'git log --output writes a file'],
    ['git -c a=b log', 'git -c sets configuration, which can run programs'],
    ['git wat', 'git wat is not among the git commands known to be harmless'],
    ['git log --wat', 'git log --wat is not among the options known to be harmless'],
    ['sort -uof a', 'sort -o writes a file'],
    ['find . -delete', 'find -delete deletes files'],
    ['sed -i s/a/b/ f', 'sed -i changes files'],
    ["sed 'w x' f", 'the sed script may write files or run programs'],
    ["node -e 'x'", 'node -e runs code given as an argument'],
    ['python3 -', 'python takes code from its input'],
    ['npx x', 'npx fetches and runs a package'],
    ['uniq a b', 'uniq writes its second file'],
    ['make CC=evil', 'make sets a variable, which can name programs to run'],
    ['wget https://a.example', 'wget writes a file'],
    ['npm exec x', 'npm exec is not among the subcommands known to be harmless'],
    ['sh', 'sh runs what it reads from its input'],
    ['sudo ls', 'sudo runs another program with other rights or in another environment'],
    ['declare x', 'bash evaluates what is given to declare'],
    ['LD_PRELOAD=x ls', 'it sets LD_PRELOAD, which is not among the variables known to be harmless'],
  ])('%s: %s', (command, reason) => expect(analyzeCommand(command).units[0]?.doubts).toContain(reason))

  it.each([
    'mytool --anything -x y=z',
    'terraform plan -out=f',
    'docker ps',
    'kubectl get pods',
    'tsc --watch',
    './x --y',
  ])('a command in no table raises none: %s', (command) =>
    expect(analyzeCommand(command).units[0]?.doubts).toEqual([]),
  )
})

describe('the tables', () => {
  const tables = Object.entries({
    ...HAZARD_TABLE,
    ...DEV_TABLE,
    ...GIT_SUBCOMMANDS,
    ...WRAPPERS,
    'git ': GIT_GLOBAL,
  })

  it.each(tables)('%s lists only options', (_, { options, hazards = {} }) => {
    for (const token of [options, ...Object.keys(hazards)].join(' ').split(' ')) {
      if (token !== '') expect(token).toMatch(/^(-[\w#.~@+-]+|--[\w.-]*[\w])(=[rw]?|\?)?$/)
    }
  })

  it('refer to commands that exist in them', () => {
    for (const name of Object.values(SAME_TABLE)) expect(HAZARD_TABLE).toHaveProperty(name)
    for (const name of Object.keys(KNOWN_SUBCOMMANDS)) expect(DEV_TABLE).toHaveProperty(name)
  })

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'do not contain the command %s',
    (name) => {
      expect(analyzeCommand(`${name} x`).units[0]?.doubts).toEqual([])
      expect(analyzeCommand(`git ${name}`).units[0]?.doubts).toHaveLength(1)
    },
  )
})
