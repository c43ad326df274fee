/** How a question reaches a person, whatever they sit in front of. */
export type Asking = {
  print(lines: readonly string[]): void | Promise<void>
  /** Undefined when nothing was chosen. */
  choose(title: string, choices: readonly Choice[]): Promise<number | undefined>
  askLine(title: string): Promise<string | undefined>
}

/** One of several, by a key. */
export type Choice = { readonly key: string; readonly label: string }
