/** Returns the language of a file by the end of its name; undefined for files that are not source text. */
export function languageOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const whole = byName.get(name.toLowerCase())
  if (whole !== undefined) return whole
  const dot = name.lastIndexOf('.')
  return dot <= 0 ? undefined : byEnding.get(name.slice(dot + 1).toLowerCase())
}

const languages: Readonly<Record<string, string>> = {
  TypeScript: 'ts tsx mts cts',
  JavaScript: 'js jsx mjs cjs',
  Python: 'py pyi',
  Rust: 'rs',
  Go: 'go',
  Java: 'java',
  Kotlin: 'kt kts',
  Scala: 'scala sc',
  Groovy: 'groovy gradle',
  C: 'c h',
  'C++': 'cc cpp cxx hh hpp hxx',
  'C#': 'cs',
  'F#': 'fs fsx',
  'Objective-C': 'm mm',
  Swift: 'swift',
  Dart: 'dart',
  Ruby: 'rb rake',
  PHP: 'php',
  Perl: 'pl pm',
  Lua: 'lua',
  R: 'r',
  Julia: 'jl',
  Elixir: 'ex exs',
  Erlang: 'erl hrl',
  Haskell: 'hs',
  OCaml: 'ml mli',
  Clojure: 'clj cljs cljc',
  Zig: 'zig',
  Nim: 'nim',
  Shell: 'sh bash zsh',
  PowerShell: 'ps1',
  SQL: 'sql',
  HTML: 'html htm',
  CSS: 'css scss sass less',
  Vue: 'vue',
  Svelte: 'svelte',
  Markdown: 'md mdx',
  JSON: 'json jsonc',
  YAML: 'yaml yml',
  TOML: 'toml',
  XML: 'xml xsd',
  HCL: 'tf hcl',
  Protobuf: 'proto',
  GraphQL: 'graphql gql',
  Nix: 'nix',
}

const byEnding: ReadonlyMap<string, string> = new Map(
  Object.entries(languages).flatMap(([language, endings]) =>
    endings.split(' ').map((ending): [string, string] => [ending, language]),
  ),
)

const byName: ReadonlyMap<string, string> = new Map([
  ['dockerfile', 'Dockerfile'],
  ['makefile', 'Makefile'],
  ['cmakelists.txt', 'CMake'],
  ['rakefile', 'Ruby'],
  ['gemfile', 'Ruby'],
])
