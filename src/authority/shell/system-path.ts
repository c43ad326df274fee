/** Returns whether a path names a program in a directory that only the system's owner can change. */
export function isSystemPath(path: string): boolean {
  return /^\/(usr\/(local\/)?)?s?bin\/[^/]+$/.test(path)
}
