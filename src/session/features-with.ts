import { type Feature, features } from './features.js'

/** Returns the features that have this member, in order. Cached, because the loop and the gate call it often. */
export function featuresWith<Name extends keyof Feature>(
  name: Name,
): readonly (Feature & { readonly [Key in Name]-?: NonNullable<Feature[Key]> })[] {
  type Having = Feature & { readonly [Key in Name]-?: NonNullable<Feature[Key]> }
  const known = found.get(name)
  if (known !== undefined) return known as readonly Having[]
  const having = features.filter((feature): feature is Having => feature[name] !== undefined)
  found.set(name, having)
  return having
}

const found = new Map<keyof Feature, readonly Feature[]>()
