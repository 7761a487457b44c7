// Package config reads pare.toml, or the same as JSON, into a policy.
//
// A file says how to repair, what a request must fit, how what goes is summarized and
// kept, which standard rules run with which options, what is pinned, which tools read
// and write, and may hold rules of its own, written as expressions, and constraints:
//
//	keep_recent = 20
//
//	[window]
//	tokens = "model"
//
//	[rules.deduplication]
//	protect_tools = ["Task"]
//
//	[[expression]]
//	name = "old-searches"
//	when = 'tool == "Grep" and age > 3'
//	action = "clear"
//
// # Strict, and all at once
//
// Everything is checked when the file is read and before anything is run: keys,
// types, ranges, names, globs, the order of the rules, the types and the cost of
// expressions. [Parse] reports everything it finds as [Errors], each with its line
// and with what to write instead.
//
// # Expressions
//
// An expression looks at one exchange and says whether its action is wanted. It has
// no loops and no variables, builds no strings and runs compiled patterns in linear
// time, so what it costs is bounded by its length and by the bytes it looks at. What
// fails while it runs is an [*EvalError]; the history stays as it is.
package config
