// Package doctest runs the documentation. A test runs or checks every fenced block of the
// README, of docs and of the examples' pages:
//
//	console  each line with the prefix "$ " runs in a shell, in a new folder with the
//	         examples, and must print the lines below; a line "…" matches any lines
//	go       compiles; packages are imported, and the usual variables (body, r, ctx, …)
//	         exist; a following block "text output" is the program's output
//	toml     is a valid configuration; json is valid JSON
//
// Attributes of a fence, after its language:
//
//	toml file: NAME      the next console block finds it as that file
//	text output          output of the Go program above
//	go element of: X.T   an element of a []T inside package X
//	LANG not run: WHY    does not run; these blocks are counted
//
// A comment <!-- first: COMMAND --> before a console block runs a command that is not shown.
// Tests with -update write the true outputs into the pages and wrap their lines.
package doctest
