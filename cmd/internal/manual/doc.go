// Package manual generates man pages and shell completions from the grammar of a command line.
//
// [Pages] returns one page for the program and one for each command. [Completion] returns a script
// for bash, zsh or fish. Both read the commands, flags and help texts from the model that kong
// builds, so that they always match the program. Values that kong does not know, such as the names
// of rules, are passed in by the caller.
package manual
