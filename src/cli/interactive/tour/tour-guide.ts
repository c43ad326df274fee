import type { Colors } from '../../terminal/colors.js'
import type { Guide } from '../guide.js'

type Step = {
  /** What is about to be seen. */
  readonly title: string
  readonly prompt: string
}

export const tourSteps: readonly Step[] = [
  {
    title: 'A question is answered by searching: reading needs no permission',
    prompt: 'Where is "speed" defined?',
  },
  { title: 'A command runs in the sandbox; a rule allows this one', prompt: 'Run `node src/engine.test.js`' },
  {
    title: 'An edit is shown before it is made, and you decide',
    prompt: 'Replace "speed = 9" by "speed = 12" in src/engine.js',
  },
  { title: 'The check passes now', prompt: 'Run `node src/engine.test.js`' },
  { title: 'What a rule denies is refused, and explained', prompt: 'Read .env' },
  { title: 'What was changed can be put back', prompt: '/undo' },
]

/** The rules of the tour. */
export const tourRules = {
  allow: ['bash(node src/engine.test.js)'],
  deny: ['read(**/.env*)', 'bash(rm *)'],
} as const

/** Leads through the steps, one prompt after the other; whoever wants to try something else may. */
export class TourGuide implements Guide {
  #at = 0

  welcome(colors: Colors): readonly string[] {
    return [
      'This is a small project in a temporary directory, with the built-in offline model: no key, no network.',
      'Press Enter to send what is suggested, or type something of your own. Ctrl-D leaves.',
      '',
      ...this.#next(colors),
    ]
  }

  suggestion(): string | undefined {
    return tourSteps[this.#at]?.prompt
  }

  sent(text: string, colors: Colors): readonly string[] {
    if (text !== this.suggestion()) return []
    this.#at++
    return this.#next(colors)
  }

  #next({ bold, dim }: Colors): string[] {
    const step = tourSteps[this.#at]
    if (step !== undefined) return [bold(`${this.#at + 1}. ${step.title}`)]
    return [
      bold('That was the tour.'),
      dim('Go on as you like, or leave with Ctrl-D and try "capstan" in a directory of your own.'),
    ]
  }
}
