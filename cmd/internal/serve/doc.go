// Package serve implements the server of pare serve. It runs the proxy on the vendors' paths, and
// the APIs and pages of Pare below /pare/: calls from other languages, sessions, receipts, metrics
// and the live page. Everything that it stores (receipts, learned values, conversations) is written
// in the background, so that a slow or failed store delays no request. Tokens select a scope, and
// scopes do not see each other's requests. All types may be used by multiple goroutines.
package serve
