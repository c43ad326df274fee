import type { Token, Tokens } from 'marked'
import { type ComponentChildren, Fragment, type JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { safeText } from '../../src/cli/terminal/safe-text.js'
import { highlighted } from './highlight.js'
import { markdownTokens } from './markdown-tokens.js'

const firstPart = 20_000
const nextPart = 200_000

/**
 * Text of a model, a tool or a file. It is a text node, never markup. Long text is shown in parts.
 */
export function Plain({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const [shown, setShown] = useState(firstPart)
  return (
    <div class="plain">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard */}
      <pre tabIndex={0} title={label}>
        {text.slice(0, shown)}
      </pre>
      {text.length > shown && (
        <button type="button" onClick={() => setShown(shown + nextPart)}>
          Show more ({(text.length - shown).toLocaleString()} characters left)
        </button>
      )}
    </div>
  )
}

/** One line of such text. */
export function Line({ text, max = 200 }: { readonly text: string; readonly max?: number }): JSX.Element {
  const line = safeText(text.slice(0, max * 2)).replace(/\s+/g, ' ')
  return <>{line.length > max ? `${line.slice(0, max)}…` : line}</>
}

/** JSON with indentation, as text. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  return <Plain label={label} text={JSON.stringify(value, undefined, 2) ?? 'undefined'} />
}

/** Markdown of a model. Only the forms below become elements; HTML is shown as text, images are not loaded. */
export function Markdown({ text }: { readonly text: string }): JSX.Element {
  const tokens = useMemo(() => markdownTokens(safeText(text)), [text])
  if (tokens === undefined) return <Plain label="Answer" text={text} />
  return <div class="markdown">{blocks(tokens, 0)}</div>
}

/** Quotes and lists inside each other; deeper ones are shown as they were written. */
const maxDepth = 20

function blocks(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map((token, at) => <Block key={at} token={token} depth={depth} />)
}

function Block({ token, depth }: { readonly token: Token; readonly depth: number }): ComponentChildren {
  if (depth > maxDepth) return <p>{token.raw}</p>
  switch (token.type) {
    case 'heading':
      return <p class={`heading level-${(token as Tokens.Heading).depth}`}>{inline(token.tokens)}</p>
    case 'paragraph':
      return <p>{inline(token.tokens)}</p>
    case 'text':
      return <p>{token.tokens === undefined ? (token as Tokens.Text).text : inline(token.tokens)}</p>
    case 'code':
      return <Code code={token as Tokens.Code} />
    case 'blockquote':
      return <blockquote>{blocks(token.tokens ?? [], depth + 1)}</blockquote>
    case 'list': {
      const { ordered, items } = token as Tokens.List
      const children = items.map((item, at) => <li key={at}>{blocks(item.tokens, depth + 1)}</li>)
      return ordered ? <ol>{children}</ol> : <ul>{children}</ul>
    }
    case 'table': {
      const { header, rows } = token as Tokens.Table
      return (
        <table>
          <thead>
            <tr>
              {header.map((cell, at) => (
                <th key={at}>{inline(cell.tokens)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                {row.map((cell, index) => (
                  <td key={index}>{inline(cell.tokens)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )
    }
    case 'hr':
      return <hr />
    case 'space':
      return null
    default:
      return <p>{token.raw}</p>
  }
}

function Code({ code: { text, lang } }: { readonly code: Tokens.Code }): JSX.Element {
  const language = lang?.split(/\s/, 1)[0]?.toLowerCase()
  return (
    <pre>
      {text.split('\n').map((line, at) => (
        <Fragment key={at}>
          {at > 0 && '\n'}
          {highlighted(line, language)}
        </Fragment>
      ))}
    </pre>
  )
}

function inline(tokens: readonly Token[] | undefined): ComponentChildren {
  return tokens?.map((token, at) => <Inline key={at} token={token} />)
}

function Inline({ token }: { readonly token: Token }): ComponentChildren {
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens)}</strong>
    case 'em':
      return <em>{inline(token.tokens)}</em>
    case 'del':
      return <del>{inline(token.tokens)}</del>
    case 'codespan':
      return <code>{unescaped((token as Tokens.Codespan).text)}</code>
    case 'br':
      return <br />
    case 'link':
      return <InertLink href={(token as Tokens.Link).href}>{inline(token.tokens)}</InertLink>
    case 'image':
      return (
        <InertLink
          href={(token as Tokens.Image).href}
        >{`[image: ${(token as Tokens.Image).text}]`}</InertLink>
      )
    case 'escape':
      return unescaped((token as Tokens.Escape).text)
    case 'text': {
      const { tokens, text } = token as Tokens.Text
      return tokens === undefined ? unescaped(text) : inline(tokens)
    }
    default:
      return token.raw
  }
}

/** Undoes the HTML escapes that the lexer adds to the text of some tokens: the text is not inserted as HTML. */
function unescaped(text: string): string {
  return text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&')
}

/** A link of untrusted text: it shows where it leads, and a second click opens it. */
function InertLink({
  href,
  children,
}: {
  readonly href: string
  readonly children: ComponentChildren
}): JSX.Element {
  const [isShown, setIsShown] = useState(false)
  const target = URL.canParse(href) ? new URL(href) : undefined
  const canOpen = target?.protocol === 'https:' || target?.protocol === 'http:'
  return (
    <span class="inert-link">
      <button type="button" class="link" aria-expanded={isShown} onClick={() => setIsShown(!isShown)}>
        {children}
      </button>
      {isShown && (
        <span class="target">
          {' '}
          leads to <code>{href}</code>{' '}
          {canOpen && (
            <a href={target.href} target="_blank" rel="noopener noreferrer nofollow">
              Open
            </a>
          )}
        </span>
      )}
    </span>
  )
}
