import { type ToolResult, toToolResult } from '../tool/tool-result.js'
import { ToolFailedError } from './errors.js'
import { featuresWith } from './features-with.js'
import type { SessionKernel } from './kernel.js'

/** Calls a tool directly for the host: through the gate like every call, with the host's privileges. */
export async function callTool(
  kernel: SessionKernel,
  name: string,
  args: unknown,
  given?: AbortSignal,
): Promise<ToolResult> {
  kernel.assertOpen()
  const engine = kernel.engine.open()
  await kernel.start(kernel.signal)
  const { gate } = await engine
  if (kernel.tools.get(name) === undefined)
    for (const feature of featuresWith('bringTool')) await feature.bringTool(kernel, name, kernel.signal)
  const { envelope, fatal } = await gate.call({
    name,
    input: { value: args },
    origin: 'host',
    signal: given === undefined ? kernel.signal : AbortSignal.any([given, kernel.signal]),
  })
  if (fatal !== undefined) throw fatal.error
  return toToolResult(name, envelope)
}

/** Calls a tool directly and returns its text. Throws `ToolFailedError` when the call failed. */
export async function callForText(kernel: SessionKernel, name: string, args: unknown): Promise<string> {
  const { envelope, output } = await callTool(kernel, name, args)
  if (envelope.type === 'error') throw new ToolFailedError(name.replace('host_read_text', 'read'), output)
  return output
}
