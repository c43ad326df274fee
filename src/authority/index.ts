/** Who may do what: pure decisions over plain data. */
export { matchesArg, matchesCommand, unionRequirements } from './requirements.js'
export {
  assertVariables,
  compileRequirements,
  expandVariables,
  UnknownVariableError,
  type VariableName,
  type VariableValues,
  variableNames,
} from './variables.js'
