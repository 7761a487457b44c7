// Package serve puts the server together: the proxy on the vendors' paths and, below
// /pare/, what Pare itself answers: requests from other languages, sessions, receipts,
// metrics, and the page.
package serve
