export { type OfflineModelOptions, offlineModel } from './offline-model.js'
