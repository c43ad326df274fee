/** One setting of a git configuration file. Section and key are lower case; a setting without `=` is true. */
export type ConfigEntry = {
  readonly section: string
  readonly subsection?: string | undefined
  readonly key: string
  readonly value: string | true
}

/**
 * Parses a git configuration file. Returns undefined for everything that git might parse differently (continued lines,
 * a setting on the line of its section, unusual characters): the caller then trusts none of it.
 */
export function parseConfig(text: string): ConfigEntry[] | undefined {
  const entries: ConfigEntry[] = []
  let section: Pick<ConfigEntry, 'section' | 'subsection'> | undefined
  for (const line of text.replace(/^\ufeff/, '').split('\n')) {
    const plain = line.replace(/\r$/, '')
    if (/^\s*(?:[#;].*)?$/.test(plain)) continue
    const header = /^\s*\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\]\s*(?:[#;].*)?$/.exec(plain)
    if (header?.[1] !== undefined) {
      section = sectionOf(header[1], header[2])
      continue
    }
    const setting = /^\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(.*))?$/.exec(plain)
    const value = setting?.[2] === undefined ? true : parseValue(setting[2])
    if (section === undefined || setting?.[1] === undefined || value === undefined) return undefined
    entries.push({ ...section, key: setting[1].toLowerCase(), value })
  }
  return entries
}

/** Returns a configuration file with these settings and nothing else. */
export function formatConfig(entries: readonly ConfigEntry[]): string {
  return entries
    .map(({ section, subsection, key, value }) => {
      const named = subsection === undefined ? '' : ` "${subsection.replaceAll(/[\\"]/g, '\\$&')}"`
      return `[${section}${named}]\n\t${key}${value === true ? '' : ` = ${quoteValue(value)}`}\n`
    })
    .join('')
}

function sectionOf(
  name: string,
  quoted: string | undefined,
): Pick<ConfigEntry, 'section' | 'subsection'> | undefined {
  if (quoted !== undefined)
    return { section: name.toLowerCase(), subsection: quoted.replaceAll(/\\(.)/g, '$1') }
  // The old syntax: `[branch.main]`.
  const [section = '', ...rest] = name.split('.')
  return {
    section: section.toLowerCase(),
    ...(rest.length > 0 && { subsection: rest.join('.').toLowerCase() }),
  }
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '"': '"', '\\': '\\' }

function parseValue(text: string): string | undefined {
  let value = ''
  let kept = 0
  let quoted = false
  for (let at = text.search(/[^ \t]|$/); at < text.length; at++) {
    const character = text[at] ?? ''
    if (character === '\\') {
      const meant = escapes[text[++at] ?? '']
      if (meant === undefined) return undefined
      value += meant
      kept = value.length
    } else if (character === '"') {
      quoted = !quoted
      kept = value.length
    } else if (!quoted && (character === '#' || character === ';')) {
      break
    } else {
      value += character
      if (quoted || !/\s/.test(character)) kept = value.length
    }
  }
  return quoted ? undefined : value.slice(0, kept)
}

function quoteValue(value: string): string {
  const escaped = value
    .replaceAll(/[\\"]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replaceAll('\b', '\\b')
  return `"${escaped}"`
}
