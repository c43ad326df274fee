import { ObjectSurface } from './objects.js'

/** Work handed to other agents. */
export abstract class TaskSurface extends ObjectSurface {}
