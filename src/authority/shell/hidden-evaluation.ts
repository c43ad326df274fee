import type { SyntaxNode, Word as SyntaxWord } from 'unbash'
import { isLoopVariable } from './environment.js'
import { readWord } from './static-word.js'

/**
 * Returns why syntax may run something that is not in the text: bash evaluates arithmetic, array subscripts, indirect
 * names and prompt strings a second time, and a variable may contain `a[$(rm x)]`.
 */
export function hiddenEvaluation(node: SyntaxNode): string | undefined {
  switch (node.type) {
    case 'ArithmeticWord':
      return isNumber(node.value) ? undefined : 'bash evaluates the variables of an arithmetic expression'
    case 'ParameterExpansion':
      if (node.prefix === '!') return 'an indirect expansion evaluates the value of a variable'
      return node.index && !/^(\d+|@|\*)$/.test(node.index.text)
        ? 'bash evaluates the index of an array'
        : undefined
    case 'Slice':
      return isNumberWord(node.offset) && (!node.length || isNumberWord(node.length))
        ? undefined
        : 'bash evaluates the bounds of a substring'
    case 'Transform':
      return `bash evaluates \${…@${node.operand.text}}`
    case 'Default':
      return node.operator.endsWith('=') ? 'an expansion sets a variable' : undefined
    case 'ExtendedGlob':
      return 'an extended glob is read differently when extglob is off'
    case 'Assignment':
      return node.index && !/^\d+$/.test(node.index.text) ? 'bash evaluates the index of an array' : undefined
    case 'TestUnary':
      return node.operator === '-v' || node.operator === '-R'
        ? `bash evaluates what is given to ${node.operator}`
        : undefined
    case 'TestBinary':
      return /^-(eq|ne|lt|le|gt|ge)$/.test(node.operator) &&
        !(isNumberWord(node.left) && isNumberWord(node.right))
        ? `bash evaluates both sides of ${node.operator}`
        : undefined
    case 'FileDescriptorVariable':
      return isLoopVariable(node.name) ? undefined : `a redirection sets ${node.name}`
    default:
      return undefined
  }
}

function isNumberWord(word: SyntaxWord): boolean {
  return isNumber(readWord(word).value ?? '?')
}

function isNumber(text: string): boolean {
  return /^\s*-?\d*\s*$/.test(text)
}
