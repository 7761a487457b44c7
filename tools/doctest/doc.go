// Package doctest runs the documentation. Every fenced block of the README, of docs and
// of the pages beside them is run or checked by a test:
//
//   - console: each line that begins with "$ " is run by a shell in a fresh folder with the
//     examples at hand, and what it prints must be what the lines below say. A line that is
//     "…" stands for any lines.
//   - go: is compiled; names of packages are imported, and the usual variables (body, r,
//     ctx, …) are there. A block "text output" behind it is what it prints.
//   - toml: is read as a configuration, json must be JSON.
//
// What a fence says behind its language:
//
//	toml file: NAME      the next console block finds it as that file
//	text output          what the Go program above prints
//	go element of: X.T   an element of a []T inside package X
//	LANG not run: WHY    is not run; these are counted
//
// A comment <!-- first: COMMAND --> in front of a console block runs a command that the
// reader does not see. Tests with -update write the true outputs into the pages, and wrap
// their lines.
package doctest
