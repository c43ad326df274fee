import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** A text that is not the YAML we take. `line` counts from 1, in the file that it came from. */
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
