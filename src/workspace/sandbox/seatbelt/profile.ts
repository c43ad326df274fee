import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { isInside } from '../../inside.js'
import type { GuardRules } from '../guard/guard.js'
import type { MountlessProfile } from '../mountless.js'
import { readSbpl } from './read-sbpl.js'
import { sameName, sameNameBelow, samePath } from './same-path.js'
import { type SbplFilter, type SbplRule, writeSbpl } from './sbpl.js'
import { processRules, readOperations, systemRules } from './system-rules.js'

/**
 * Returns the text of a Seatbelt profile: everything not allowed is denied, and of two matching rules the later one
 * applies. The order is: the system, then hidden and visible paths, outermost first, so that the innermost place
 * decides, then protected paths inside writable ones. The text is parsed again before it is returned, so that a path
 * cannot become a rule.
 */
export function seatbeltProfile(profile: MountlessProfile): string {
  for (const path of pathsOf(profile)) checkPath(path)
  const rules = [
    ...processRules,
    ...networkRules(profile.proxyPort),
    ...systemRules,
    ...placeRules(profile),
    ...heldRules(profile),
  ]
  const text = writeSbpl(rules)
  if (!isDeepStrictEqual(readSbpl(text), { default: 'deny', rules }))
    throw new TypeError('The Seatbelt profile does not say what it was written from.')
  return text
}

function networkRules(proxyPort: number | undefined): SbplRule[] {
  if (proxyPort === undefined) return []
  const words = [{ symbol: 'tcp' }, { text: `localhost:${proxyPort}` }]
  return rule('allow', ['network-outbound'], [{ kind: 'other', name: 'remote', words }])
}

type Place = { readonly path: string; readonly how: 'hidden' | 'read-only' | 'writable' }

/** Returns each place once, outermost first. */
function placesOf({ hidden, shown, tmp, home }: MountlessProfile): Place[] {
  const places = new Map<string, Place>()
  for (const { path } of hidden) places.set(path, { path, how: 'hidden' })
  for (const place of shown) places.set(place.path, place)
  for (const path of [tmp, home]) places.set(path, { path, how: 'writable' })
  return [...places.values()].toSorted((a, b) => a.path.length - b.path.length)
}

function placeRules(profile: MountlessProfile): SbplRule[] {
  const places = placesOf(profile)
  const seen = places.filter(({ how }) => how !== 'hidden')
  return [
    ...places.flatMap(({ path, how }) => {
      const place: SbplFilter[] = [{ kind: 'subpath', path }]
      if (how === 'hidden') return rule('deny', [...readOperations, 'file-write*'], place)
      if (how === 'writable') return rule('allow', [...readOperations, 'file-write*'], place)
      const isWithin = places.some((around) => around.how === 'writable' && isBelow(around.path, path))
      return [
        ...rule('allow', readOperations, place),
        ...(isWithin ? rule('deny', ['file-write*'], place) : []),
      ]
    }),
    // A program that resolves its own directory reads the metadata of every parent directory.
    ...rule('allow', ['file-read-metadata'], literals(seen.flatMap(({ path }) => ancestorsOf(path)))),
    ...rule('deny', ['file-write-setugid'], [{ kind: 'subpath', path: '/' }]),
  ]
}

/** Returns the rules for protected, denied and unmovable paths inside writable ones. No later rule allows anything. */
function heldRules(profile: MountlessProfile): SbplRule[] {
  const { pins, rules, masked, sockets, shown, hidden } = profile
  const opened = pins.filter(({ how }) => how === 'own-mount').map(({ path }) => path)
  const readOnly = pins.filter(({ how }) => how === 'read-only').map(({ path }) => path)
  const names = namesOf(rules).map(({ path }) => path)
  const denied = [...masked.map(({ path }) => path), ...sockets]
  const writable = placesOf(profile)
    .filter(({ how }) => how === 'writable')
    .map(({ path }) => path)
  const within = [...shown, ...hidden].map(({ path }) => path)
  const fixed = [...readOnly, ...opened, ...names, ...denied, ...within].filter((path) =>
    writable.some((place) => isBelow(place, path)),
  )
  const steps = fixed.flatMap((path) => [path, ...ancestorsOf(path)])
  // Moving a directory would also move the protected paths in it to a place where no rule protects them.
  const unmovable = steps.filter((path) => writable.some((place) => isInside(place, path)))
  const isSame = (path: string): SbplFilter => ({
    kind: 'require-any',
    filters: [{ kind: 'subpath', path }, regex(samePath(path))],
  })
  const gitBases = rules.gitRoots.length === 0 ? [] : [...rules.gitRoots, ...opened]
  return [
    ...rule(
      'deny',
      ['file-write*'],
      [
        ...unique(gitBases).map((base) => except(regex(sameNameBelow(base, '.git')), base, opened)),
        ...unique(readOnly).map((path) => except(isSame(path), path, opened)),
        ...namesOf(rules).map(({ directory, name, path }) =>
          except(regex(sameName(directory, name)), path, opened),
        ),
      ],
    ),
    ...rule('deny', ['file-write-unlink'], literals([...unmovable, ...writable])),
    ...rule('deny', [...readOperations, 'file-write*'], unique(denied).map(isSame)),
  ]
}

/** Returns a filter that does not apply to the directories inside a place that are opened for the command. */
function except(filter: SbplFilter, place: string, opened: readonly string[]): SbplFilter {
  const within = unique(opened).filter((path) => isBelow(place, path))
  if (within.length === 0) return filter
  const outside = within.map(
    (path): SbplFilter => ({ kind: 'require-not', filter: { kind: 'subpath', path } }),
  )
  return { kind: 'require-all', filters: [filter, ...outside] }
}

/** Returns each name that cannot be created, once. */
function namesOf({ names }: GuardRules): { directory: string; name: string; path: string }[] {
  const found = new Map<string, { directory: string; name: string; path: string }>()
  for (const { directory, name } of names) {
    const path = `${directory === '/' ? '' : directory}/${name}`
    found.set(path, { directory, name, path })
  }
  return [...found.values()]
}

/** Returns no rule if there are no filters: a rule without filters would apply to everything. */
function rule(
  action: SbplRule['action'],
  operations: readonly string[],
  filters: readonly SbplFilter[],
): SbplRule[] {
  return filters.length === 0 ? [] : [{ action, operations, filters }]
}

function regex(pattern: string): SbplFilter {
  return { kind: 'regex', pattern }
}

function literals(paths: readonly string[]): SbplFilter[] {
  return unique(paths).map((path) => ({ kind: 'literal', path }))
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}

function ancestorsOf(path: string): string[] {
  const above = dirname(path)
  return above === path ? [] : [above, ...ancestorsOf(above)]
}

function isBelow(directory: string, path: string): boolean {
  return path !== directory && isInside(directory, path)
}

function pathsOf({ shown, hidden, pins, tmp, home, masked, sockets, rules }: MountlessProfile): string[] {
  return [
    ...[...shown, ...hidden, ...pins, ...masked].map(({ path }) => path),
    ...[tmp, home, ...sockets, ...rules.gitRoots],
    ...namesOf(rules).map(({ path }) => path),
  ]
}

/** Seatbelt compares texts: a path that is not written in the kernel's form would match nothing. */
function checkPath(path: string): void {
  const isPlain =
    path === '/' ||
    (path.startsWith('/') &&
      !path
        .split('/')
        .slice(1)
        .some((name) => /^\.{0,2}$/.test(name)))
  if (!isPlain) throw new TypeError(`${JSON.stringify(path)} is not an absolute path without "." and "..".`)
}
