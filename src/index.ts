export * from './authority/index.js'
export * from './tool/index.js'
