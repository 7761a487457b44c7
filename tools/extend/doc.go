// Package extend holds tests that extend Pare: a seventh dialect, another agent's session
// file, another database behind the store, another standard rule. Each extension is laid
// over the tree with go build -overlay, so nothing of it is part of the program. A test
// counts the files it takes.
package extend
