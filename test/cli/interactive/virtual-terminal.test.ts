import { describe, expect, it } from 'vitest'
import { VirtualTerminal } from './virtual-terminal.js'

describe('the terminal of these tests', () => {
  it('shows the same text however its input is cut into pieces', () => {
    const output = 'one\u001b[2K\r\u001b[?25htwo\r\n\u001b[1mthree\u001b[22m'
    const whole = new VirtualTerminal(40)
    whole.take(output)
    expect(whole.text()).toContain('three')
    for (let cut = 1; cut < output.length; cut++) {
      const terminal = new VirtualTerminal(40)
      terminal.take(output.slice(0, cut))
      terminal.take(output.slice(cut))
      expect(terminal.text()).toBe(whole.text())
    }
  })
})
