// Package rules contains the standard rules, which remove content that most histories do not need.
//
//	p, err := pare.Compile(rules.Standard()...)
//
// The type of each rule holds its options; the zero value is the default. Rules, options and
// errors are values that goroutines may share.
//
// A rule clears a useless exchange (a placeholder replaces the result or the arguments) or drops
// it. Clearing is the default, because the model then still sees its calls. A rule never makes a
// history longer, never clears a placeholder and never uses one as evidence. A rule finds nothing
// in its own output.
//
// # What is never touched
//
// The rules never touch incomplete exchanges, exchanges that the provider runs, results in which
// a person speaks (such as a refusal with feedback), the tools of [ProtectedTools], and exchanges
// that the options protect.
//
// # Tools
//
// [Table] lists the tools of common agents: which of them read, write, edit, search or run, and
// which argument names the file. A name must match as a whole; case does not matter. The option
// Table adds tools or replaces entries of the same name. Paths are compared after cleaning. The
// working directory is unknown, so a relative path never equals an absolute one.
//
// # Failed results
//
// Where the dialect marks failed results (anthropic, bedrock, gemini-interactions), the mark
// decides. On both Gemini dialects a response with an error member has failed. Elsewhere, and in
// the output of gemini, a result has failed if its text begins with error:, Error executing,
// Traceback, fatal:, failed to and the like, or with a JSON object whose first member is error,
// or if its first lines, or Codex' metadata at the end, report a nonzero exit code. An unmarked
// text that reports an error counts neither as failure nor as success. The same holds for the
// stub of a call that has no result.
package rules
