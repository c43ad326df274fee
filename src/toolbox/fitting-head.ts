/**
 * Returns a text that has at most `maxBytes` as JSON: unchanged, or without a part of its middle. Quotes, line ends
 * and control characters are longer in JSON, and a text that is too long would be truncated a second time, at its
 * end.
 */
export function fittingHead(text: string, maxBytes: number): string {
  let shown = text
  for (let kept = text.length; jsonBytes(shown) > maxBytes && kept > 0; ) {
    kept = Math.floor((kept * Math.min(0.95, maxBytes / jsonBytes(shown))) / 1.01)
    shown = withoutMiddle(text, kept)
  }
  return shown
}

/** The share of the start. The end says how something ended, and is usually shorter. */
const startShare = 0.64

function withoutMiddle(text: string, kept: number): string {
  const start = Math.floor(kept * startShare)
  const mark = `\n[... ${text.length - kept} characters left out ...]\n`
  // Remove half of a surrogate pair that was split.
  return `${text.slice(0, start)}${mark}${text.slice(text.length - (kept - start))}`.replace(/\p{Cs}/gu, '')
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text))
}
