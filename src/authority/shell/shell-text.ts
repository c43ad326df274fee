/** Returns whether a shell would read more than one word in this text: several words, quotes, operators, expansions. */
export function isShellText(text: string): boolean {
  return /[\s'"\\$`;&|<>(){}]/.test(text)
}
