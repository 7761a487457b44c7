// Package screen writes text for people and makes text from elsewhere safe to print.
//
// A [Text] is safe: it is a constant of the program or was made by this package. [Printf] and the
// other functions convert every other value, so that it stays on one line and contains no escape
// codes of the terminal. A [Palette] paints text, and a [Command] quotes the words of a command
// line that users copy. The other functions measure, shorten and wrap text by the columns that it
// takes on a terminal.
package screen
