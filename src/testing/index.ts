/** For those who write tools: checks and stand-ins to test them with. */

export { type RecordedCall, recordToolCall } from './record-tool-call.js'
export { checkToolContract, type ToolSamples } from './tool-contract.js'
