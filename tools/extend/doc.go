// Package extend holds tests that extend Pare: a seventh dialect, another agent's session
// file, another database for the store, another standard rule. Each extension is added with go
// build -overlay, so the program does not contain it. A test counts the files that it takes.
package extend
