import type { ComponentChildren, JSX } from 'preact'

/** A column: its name, and whether it has numbers, is left out on narrow screens, or has a name for screen readers alone. */
export type Column = {
  readonly name: string
  readonly isNumber?: boolean
  readonly isWide?: boolean
  readonly isHidden?: boolean
}

/** A table of a list view, which scrolls to the side on narrow screens. The children are its rows. */
export function Table({
  columns,
  caption,
  isPlain = true,
  children,
}: {
  readonly columns: readonly Column[]
  /** For screen readers. */
  readonly caption: string
  /** False when the first column is a checkbox and the second one the name. */
  readonly isPlain?: boolean
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
    <div class="scroll" tabIndex={0}>
      <table class={isPlain ? 'list plain-list' : 'list'}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, isNumber, isWide, isHidden }) => (
              <th key={name} scope="col" class={`${isNumber ? 'number' : ''} ${isWide ? 'wide' : ''}`}>
                {isHidden ? <span class="hidden">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
