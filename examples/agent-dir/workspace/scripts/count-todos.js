// @ts-nocheck: a program, which runs in a sandbox of its own.
export default async function run(ctx, inputs) {
  const { output } = await ctx.tools.grep({ pattern: inputs.word ?? 'TODO', glob: '*.md' })
  const counts = {}
  for (const line of output.split('\n')) {
    const file = /^>?(.+?):\d+:/.exec(line)?.[1]
    if (file !== undefined) counts[file] = (counts[file] ?? 0) + 1
  }
  return { summary: `${Object.keys(counts).length} file(s)`, counts }
}
