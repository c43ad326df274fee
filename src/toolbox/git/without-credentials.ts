/**
 * Returns a text without the credentials of its URLs: user and password of a web address (either may be a token), the
 * password of any other, and everything after a `?` or `#`.
 */
export function withoutCredentials(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*):\/\/([^\s/?#'"]*@)?([^\s?#'"]*)([?#][^\s'"]*)?/gi, cleaned)
    .replace(/(^|\s)([^\s:@/]+):[^\s@/]+@(?=[^\s/:]+:)/gm, '$1$2@')
}

function cleaned(_whole: string, scheme: string, user: string | undefined, rest: string): string {
  const web = /^(https?|ftps?)$/i.test(scheme)
  const kept = web || user === undefined ? '' : `${user.slice(0, -1).split(':')[0]}@`
  return `${scheme}://${kept}${rest}`
}
