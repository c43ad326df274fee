export { matchesArg, matchesCommand, unionRequirements } from './authority/requirements.js'
export {
  assertVariables,
  compileRequirements,
  expandVariables,
  UnknownVariableError,
  type VariableName,
  type VariableValues,
  variableNames,
} from './authority/variables.js'
export * from './tool/index.js'
