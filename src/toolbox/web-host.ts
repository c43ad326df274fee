/** The host of a URL with its port, of which rules can then be sure. */
export function webHost({ protocol, hostname, port }: URL): string {
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`
}
