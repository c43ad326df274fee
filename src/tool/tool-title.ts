import type { AnyTool } from './contract.js'

/** The name of a tool for people: its own title, or its name in words. A tool of a server says whose it is. */
export function toolTitle({ name, title, mcp }: Pick<AnyTool, 'name' | 'title' | 'mcp'>): string {
  if (title !== undefined && title.trim() !== '') return title
  return mcp === undefined ? inWords(name) : `${inWords(mcp.tool)} (${mcp.server})`
}

/** `web_fetch` is `Web fetch`, `readFile` is `Read file`. */
function inWords(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[-_.: ]+/)
    .filter((word) => word !== '')
    .map((word) => (/^[A-Z]{2,}$/.test(word) ? word : word.toLowerCase()))
    .join(' ')
  return words === '' ? name : `${words[0]?.toUpperCase()}${words.slice(1)}`
}
