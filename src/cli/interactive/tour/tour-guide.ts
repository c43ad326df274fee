import type { Colors } from '../../terminal/colors.js'
import type { Guide } from '../guide.js'

type Step = {
  /** The title of this step. */
  readonly title: string
  readonly prompt: string
}

export const tourSteps: readonly Step[] = [
  {
    title: 'Ask a question: reading needs no permission',
    prompt: 'Where is "speed" defined?',
  },
  { title: 'Run a command in the sandbox: a rule allows this one', prompt: 'Run `node src/engine.test.js`' },
  {
    title: 'Edit a file: you see the change and approve it',
    prompt: 'Replace "speed = 9" by "speed = 12" in src/engine.js',
  },
  { title: 'Run the check again: it passes now', prompt: 'Run `node src/engine.test.js`' },
  { title: 'Read a secret file: a rule denies it', prompt: 'Read .env' },
  { title: 'Undo the changes', prompt: '/undo' },
]

/** The rules of the tour. */
export const tourRules = {
  allow: ['bash(node src/engine.test.js)'],
  deny: ['read(**/.env*)', 'bash(rm *)'],
} as const

/** Suggests the prompts of the tour, one after the other. The user can also type other prompts. */
export class TourGuide implements Guide {
  #at = 0

  welcome(colors: Colors): readonly string[] {
    return [
      'This is a sample project in a temporary directory, with the built-in offline model: no API key, no network.',
      'Press Enter to send the suggested prompt, or type your own. Ctrl-D exits.',
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
      bold('End of the tour.'),
      dim('Try other prompts, or exit with Ctrl-D and run "capstan" in a directory of your own.'),
    ]
  }
}
