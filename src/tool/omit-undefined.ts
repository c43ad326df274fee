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
  for (const name of Object.keys(fields) as (keyof Fields & string)[])
    if (fields[name] !== undefined) defined[name] = fields[name]
  // Only fields with the value undefined are removed, which is what the type says.
  return defined as Defined<Fields>
}
