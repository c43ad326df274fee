/** Whether a shell that is given this text would read more in it than one word: several words, quotes, operators, expansions. */
export function isShellText(text: string): boolean {
  return /[\s'"\\$`;&|<>(){}]/.test(text)
}
