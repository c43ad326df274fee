import type { AnyTool } from './contract.js'

/** Returns the name of a tool for users: its title, or its name in words, with the name of its server if it has one. */
export function toolTitle({ name, title, mcp }: Pick<AnyTool, 'name' | 'title' | 'mcp'>): string {
  if (title !== undefined && title.trim() !== '') return title
  return mcp === undefined ? inWords(name) : `${inWords(mcp.tool)} (${mcp.server})`
}

/** Converts `web_fetch` to `Web fetch` and `readFile` to `Read file`. */
function inWords(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[-_.: ]+/)
    .filter((word) => word !== '')
    .map((word) => (/^[A-Z]{2,}$/.test(word) ? word : word.toLowerCase()))
    .join(' ')
  return words === '' ? name : `${words[0]?.toUpperCase()}${words.slice(1)}`
}

/** Returns the argument that describes a call best. */
export function describingArgument(args: Readonly<Record<string, unknown>>): string | undefined {
  return describingFields.map((name) => args[name]).find((value) => typeof value === 'string')
}

const describingFields = 'command file_path path pattern query url description name prompt'.split(' ')
