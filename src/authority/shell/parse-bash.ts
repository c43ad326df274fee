import { forEachChild, type ParsedScript, parse, type SyntaxNode } from 'unbash'

/**
 * Returns the syntax tree of a bash script, or undefined when any part was not understood. Only this file calls the
 * parser, so that the parser can be replaced.
 */
export function parseBash(text: string): ParsedScript | undefined {
  try {
    const script = parse(text)
    return isUnderstood(script, text) ? script : undefined
  } catch {
    // Deep nesting makes the parser overflow the stack; treated like a syntax error.
    return undefined
  }
}

/** Calls `visit` for a node and everything below it, outermost first. */
export function visitSyntax(node: SyntaxNode, visit: (node: SyntaxNode) => void): void {
  visit(node)
  forEachChild(node, (child) => visitSyntax(child, visit))
}

function isUnderstood(node: SyntaxNode, source: string): boolean {
  if (!KNOWN_NODES.has(node.type) || isIncomplete(node) || isMiscut(node, source)) return false
  // A script in escaped backticks has its own text, to which its positions refer.
  const text = node.type === 'Script' ? (node.source ?? source) : source
  let understood = true
  forEachChild(node, (child) => {
    understood &&= isUnderstood(child, text)
  })
  return understood
}

/**
 * unbash 6.0.3 ends a word at the `)` of a process substitution and begins one at its `<`, where bash continues the
 * word: `< <(x)a rm y` runs `rm`, and in `cat <(x)# ; rm y` there is no comment. Found by the differential fuzz.
 */
function isMiscut(node: SyntaxNode, source: string): boolean {
  if (node.type !== 'ProcessSubstitution') return false
  return !/^$|[\s;|&(]/.test(source.charAt(node.pos - 1)) || !/^$|[\s;|&)`]/.test(source.charAt(node.end))
}

/** The parser recovers from errors and leaves gaps; text in a gap would not be analyzed. */
function isIncomplete(node: SyntaxNode): boolean {
  switch (node.type) {
    case 'Script':
      return (node.errors?.length ?? 0) > 0
    case 'CommandExpansion':
    case 'ProcessSubstitution':
    case 'ArithmeticCommandExpansion':
      return node.script === undefined
    case 'ArithmeticExpansion':
      return node.expression === undefined && /[^\s$()[\]]/.test(node.text)
    case 'ArithmeticCommand':
      return node.expression === undefined && node.body.trim() !== ''
    case 'Redirect':
    case 'HereString':
      return node.target === undefined
    case 'HereDoc':
      return node.delimiter === undefined || node.closing === undefined
    case 'Function':
    case 'Coproc':
      return node.body.type === 'CompoundList'
    default:
      return false
  }
}

/** A node type that a new parser version adds is not understood until it is listed here. */
const KNOWN_NODES: ReadonlySet<string> = new Set([
  ...[
    'Script',
    'Statement',
    'CompoundList',
    'AndOr',
    'Pipeline',
    'Time',
    'Negation',
    'Command',
    'Redirected',
  ],
  ...['If', 'Elif', 'For', 'ArithmeticFor', 'Select', 'While', 'Case', 'CaseItem', 'Function', 'Coproc'],
  ...['Subshell', 'BraceGroup', 'TestCommand', 'ArithmeticCommand'],
  ...[
    'Word',
    'Literal',
    'Glob',
    'SingleQuoted',
    'DoubleQuoted',
    'AnsiCQuoted',
    'LocaleString',
    'ExtendedGlob',
  ],
  ...[
    'SimpleExpansion',
    'ParameterExpansion',
    'CommandExpansion',
    'ArithmeticExpansion',
    'ProcessSubstitution',
  ],
  ...['BraceExpansion', 'Default', 'Remove', 'Replace', 'Slice', 'CaseModification', 'Transform', 'Names'],
  ...['Assignment', 'ArrayValue', 'Redirect', 'HereString', 'HereDoc', 'HereDocDelimiter', 'HereDocBody'],
  ...['FileDescriptor', 'FileDescriptorVariable'],
  ...['ArithmeticBinary', 'ArithmeticUnary', 'ArithmeticTernary', 'ArithmeticGroup', 'ArithmeticWord'],
  ...['ArithmeticCommandExpansion'],
  ...['TestUnary', 'TestBinary', 'TestLogical', 'TestNot', 'TestGroup'],
])
