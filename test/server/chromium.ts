import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { directory } from './support.js'

/** The path of Chromium on this machine; undefined when there is none. */
export const chromium = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((path) => existsSync(path))
if (chromium === undefined)
  console.warn('Chromium is not installed here: the tests in a browser are SKIPPED.')

/** Opens a page in Chromium without a window. Returns a function that ends it. */
export function openInChromium(url: string): () => Promise<void> {
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']
  const browser = spawn(chromium ?? '', [...flags, `--user-data-dir=${directory()}`, url], {
    stdio: 'ignore',
  })
  const closed = new Promise<void>((resolve) => browser.on('close', () => resolve()))
  return () => {
    browser.kill('SIGKILL')
    return closed
  }
}
