/**
 * The surface a tool works through. Whatever a tool does to a machine goes through the runtime it is handed, which holds every
 * path, host and command to the call's grant; a tool never reaches for the machine by itself. A host lends the parts it has.
 */
export interface ToolRuntime {
  readonly files?: RuntimeFiles
  readonly shell?: RuntimeShell
  readonly net?: RuntimeNet
}

/** Paths are relative to the workspace root; one that leads outside the grant is refused with an error that says so. */
export interface RuntimeFiles {
  readText(path: string): Promise<string>
  readBytes(path: string, range?: { start: number; end: number }): Promise<Uint8Array>
  writeText(path: string, text: string): Promise<void>
}

export interface RuntimeShell {
  run(command: string, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<ShellOutcome>
}

export type ShellOutcome = {
  readonly exitCode: number | null
  readonly output: string
  readonly timedOut: boolean
}

export interface RuntimeNet {
  fetch(
    url: string,
    init?: {
      method?: string
      headers?: Readonly<Record<string, string>>
      body?: string
      signal?: AbortSignal
    },
  ): Promise<Response>
}
