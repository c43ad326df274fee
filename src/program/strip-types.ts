import { CapstanError, messageOf } from '../tool/errors.js'

/** Takes the types out of TypeScript and leaves every other character where it was, so that lines and columns stay true. */
export type StripTypes = (source: string) => string | Promise<string>

/** What the running version of Node brings: from 22.13 on there is one. */
export async function stripTypesWithNode(source: string): Promise<string> {
  const node: object = await import('node:module')
  if (!('stripTypeScriptTypes' in node) || typeof node.stripTypeScriptTypes !== 'function')
    throw new CapstanError(
      'program_typescript_unavailable',
      `TypeScript programs need Node 22.13 or newer (this is ${process.version}), or a host that lends stripTypes. Write the program in JavaScript.`,
    )
  try {
    return String(node.stripTypeScriptTypes(source))
  } catch (cause) {
    throw new CapstanError(
      'program_source_invalid',
      `program script error:\nThe types cannot be taken out of the program: ${messageOf(cause)}`,
      { cause },
    )
  }
}
