// Package storehttp serves the sessions of a store over HTTP, under /pare/v1/.
//
// Requests and responses are JSON; the embedded OpenAPI document describes them. Errors have one
// shape: a type for programs and a message for people. A token opens one scope; without tokens, only
// clients on the same machine are served. A handler may be used by several goroutines; it
// holds no state but the names of failed rules that it has logged.
package storehttp
