import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** Thrown for a text that is not valid or supported YAML. `line` counts from 1, in the file that contains the text. */
export class YamlError extends CapstanError {
  readonly line: number
  /** The message without the line. */
  readonly problem: string

  constructor(line: number, problem: string) {
    super('invalid_yaml', `line ${line}: ${problem}`)
    this.line = line
    this.problem = problem
  }
}

markErrorClass(YamlError, 'YamlError')
