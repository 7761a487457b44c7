// Package histories makes conversations for tests: from a short notation, at
// random, broken and damaged, with the relations that hold for all of them.
//
// # The notation
//
// A script is a list of steps, separated by | or by line ends:
//
//	system "be brief"
//	user "fix it" | think "where is it?" | say "I look." | call r1 Read a.go
//	result r1 package a
//	call t1 Bash {"command":"go test"} | fail t1 exit status 1
//	user "and this?" | image | orphan x9 no such call
//
// What the model does in a row (think, say, call) is one turn, and so are the
// results that follow. A call's arguments are a JSON object, or words: a bare word
// is the path, key=value any other member. A result belongs to the latest call of
// its id; one that has no call is written orphan.
//
// # Rendering
//
// [Script.Render] writes a script as a request body of any dialect, as real
// clients do, and [Script.Paths] tells where each step went. The short ids of a
// script become ids such as the provider makes. A script for which [Script.Valid]
// returns nil is accepted by the rules of all dialects.
//
// # Random histories
//
// [Random] makes valid scripts that look like agents at work. [Break] does to a
// script what real incidents do; [Corrupt] damages a body on its way. All of them
// are functions of their seed.
//
// # Relations
//
// The functions whose names begin with Check take a [testing.TB] and report what
// does not hold.
package histories
