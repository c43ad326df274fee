import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** The kinds of {@link SearchError}. */
export type SearchErrorCode =
  | 'search_pattern_invalid'
  | 'search_path_refused'
  | 'search_path_missing'
  /** There is no ripgrep for this platform, or it cannot be started. */
  | 'search_unavailable'
  | 'search_failed'

/** Thrown when a search could not be started or completed. */
export class SearchError extends CapstanError<SearchErrorCode> {}

markErrorClass(SearchError, 'SearchError')
