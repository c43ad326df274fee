/** Whether a path is a directory or is inside it. Both must be real paths: nothing is resolved. */
export function isInside(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`)
}
