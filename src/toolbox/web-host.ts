/** Returns the host of a URL, always with its port, so that rules need not guess the port. */
export function webHost({ protocol, hostname, port }: URL): string {
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`
}
