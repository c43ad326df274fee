export { generateObject, type ObjectAnswer, type ObjectParts } from './generate-object.js'
export type { ObjectAsk } from './object-asks.js'
export type { ReceivedPiece } from './partial-objects.js'
