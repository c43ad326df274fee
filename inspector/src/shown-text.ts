import { options } from 'preact'
import { safeText } from '../../src/cli/terminal/safe-text.js'

/** Attributes that browsers show or read aloud. */
const shownAttributes = ['title', 'aria-label', 'alt', 'placeholder']
const maxAttribute = 300

/**
 * Shows control and direction characters as escapes in every text node and every shown attribute of the page, so that no
 * view can forget it. Views that cut, split or parse a text escape it before.
 */
export function escapeShownText(): void {
  const next = options.vnode
  options.vnode = (node) => {
    const { type, props }: { readonly type: unknown; readonly props: unknown } = node
    // The type of text nodes is null, and their properties are the text.
    if (type === null && typeof props === 'string') Object.assign(node, { props: safeText(props) })
    else if (typeof type === 'string') escapeAttributes(node.props)
    next?.(node)
  }
}

function escapeAttributes(props: object): void {
  for (const name of shownAttributes) {
    const value: unknown = Reflect.get(props, name)
    if (typeof value === 'string') Reflect.set(props, name, safeText(value.slice(0, maxAttribute)))
  }
}
