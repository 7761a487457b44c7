// Package histories makes conversations for tests: from a short notation, at random, broken
// and damaged. It also has the relations that hold for all of them.
//
// # Notation
//
// A script is a list of steps, separated by | or by line ends:
//
//	system "be brief"
//	user "fix it" | think "where is it?" | say "I look." | call r1 Read a.go
//	result r1 package a
//	call t1 Bash {"command":"go test"} | fail t1 exit status 1
//	user "and this?" | image | orphan x9 no such call
//
// Consecutive steps of the model (think, say, call) are one turn, and so are consecutive
// results. The arguments of a call are a JSON object, or words: a bare word is the path,
// key=value is another member. A result belongs to the latest call of its id; a result without
// a call is written as orphan.
//
// # Rendering
//
// [Script.Render] writes a script as a request body of any dialect, as real clients do.
// [Script.Paths] returns the path of each step. The short ids of a script become ids in the
// provider's format. If [Script.Valid] returns nil, the rules of all dialects accept the
// script.
//
// # Random histories
//
// [Random] makes valid scripts that look like agents at work. [Break] applies incidents that
// really happen; [Corrupt] damages a body in transit. All of them are functions of their seed.
//
// # Relations
//
// Functions with the prefix Check take a [testing.TB] and report violations.
package histories
