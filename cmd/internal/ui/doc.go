// Package ui shows conversations in a browser: one page that needs nothing but
// itself, as a file or live on a local port.
//
// A [Page] is what is shown, as plain data: messages and their blocks, which of them
// belong together, what is wrong, and what a plan would do. [New] makes one of a
// request; whoever reads histories of another kind, such as an agent's own session
// file with lines and threads, fills one in by hand. [Page.WriteHTML] writes it with
// the style and the program that show it, which are embedded and hand-written: no
// framework, no network, and a policy in the page itself that forbids both.
// [Handler] serves the same page and lets it follow a file that changes.
//
// All text of a conversation goes into the page as data and from there into text
// nodes. Nothing of it is ever read as markup.
package ui
