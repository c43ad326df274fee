/** The fields of an object without those whose value is `undefined`. */
export type Defined<Fields extends object> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name]
} & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>
}

/**
 * Copies an object without the fields whose value is `undefined`, for objects that are spread over defaults,
 * serialized, or passed to a public type with optional fields.
 */
export function omitUndefined<Fields extends object>(fields: Fields): Defined<Fields> {
  const defined: Record<string, unknown> = {}
  const names = Object.keys(fields) as (keyof Fields & string)[]
  // An index instead of an iterator: every call of a tool needs this function about ten times.
  for (let at = 0; at < names.length; at++) {
    const name = names[at] as keyof Fields & string
    const value = fields[name]
    if (value !== undefined) defined[name] = value
  }
  // Only fields with the value undefined are removed, which is what the type says.
  return defined as Defined<Fields>
}
