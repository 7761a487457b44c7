// Package rules has the standard rules: what most histories can do without.
//
//	p, err := pare.Compile(rules.Standard()...)
//
// Each rule is made by a function that takes its options; the zero options are the
// defaults. Nothing here uses more than any user's rule could.
//
// # Clear and drop
//
// A rule that finds something useless either clears it (the exchange stays, what it
// said becomes a placeholder that tells what was here, why it went and how to get
// it back) or drops the whole exchange. Clearing is the default: the model still
// sees what it did. What is shorter than its placeholder would be is left alone, so
// no rule makes a history longer. A placeholder is never cleared again and never
// stands as evidence against something else: a rule that is run on its own output
// has nothing to say.
//
// # What is never touched
//
// Exchanges that are not whole, or that the provider runs; results in which a
// person speaks, such as a refusal with feedback; the tools of [ProtectedTools],
// which hold plans, tasks, skills and questions; and what the options protect.
//
// # Which tools do what
//
// [Table] lists the tools of common agents: which of them read, write, edit,
// search or run, and which argument names the file. Names are compared without
// regard to case and must match as a whole. The option Tools adds others, or
// replaces an entry of the same name. Paths are compared after cleaning; nothing is
// known of the working directory, so a relative path never equals an absolute one.
//
// # What failed
//
// Where the dialect marks failed results (anthropic, bedrock,
// gemini-interactions), the mark decides. On both dialects of gemini a response with an
// error member has failed. Elsewhere, and in the output
// of gemini, the text is looked at: it has failed if it begins with error:, Error
// executing, Traceback, fatal:, failed to and the like, with a JSON object whose
// first member is error, or if its first lines, or Codex' metadata at the end,
// report an exit code that is not zero. A text that says so without being marked is
// taken neither as failure nor as success. So is the stub of a call that nobody
// answered.
package rules
