// Command pare checks, repairs, shortens, stores and proxies the conversations of LLM agents.
//
// Each command is a struct: kong fills its fields from the command line, and its run method
// returns the exit status. Commands that only read transcripts pass a function to
// [reportFlags.report]; commands that change transcripts describe their work as a [task] and pass
// it to [changeFlags.run]. Both read their input with package source, process transcripts on all
// cores, and write the results in the order of the input. Session files of agents are read and
// repaired by package agentlog; the files session*.go connect it to the commands.
package main
