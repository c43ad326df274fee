import { TaskSurface } from './tasks.js'

/** What is known from before: memories and skills. */
export abstract class RecallSurface extends TaskSurface {}
