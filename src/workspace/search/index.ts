export { SearchError } from './errors.js'
export { createLocalSearch, type LocalSearchOptions } from './local-search.js'
