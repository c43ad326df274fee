export type ParsedCommand = { readonly name: string; readonly args: string }

/**
 * Parses a slash command: `/`, a name, and then a space or the end of the text. `/etc/passwd` and `/ship.ts` are paths,
 * not commands.
 */
export function parseCommand(text: string): ParsedCommand | undefined {
  const found = /^\/([a-zA-Z0-9_-]{1,64})(?=\s|$)/.exec(text)
  const name = found?.[1]
  return name === undefined ? undefined : { name, args: text.slice(name.length + 1).trim() }
}
