// Package picture renders conversations, findings and plans as text for the terminal.
//
// A [Style] holds the width and the colors of the output; its methods render findings, session
// files, token counts, cuts and the explanations of words. An [Excerpt] draws single messages with
// notes on their faulty blocks. A [Plan] lists the changes of a plan, a [Sketch] draws a whole
// conversation, and a [Doctor] reports on the sessions of agents. Text from conversations is
// printed through package screen, which makes it safe for the terminal.
package picture
