/** Whether a path is a directory, or lies in it. Both are real paths: nothing is resolved. */
export function isInside(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`)
}
