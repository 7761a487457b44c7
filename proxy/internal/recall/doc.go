// Package recall lets a model fetch what was removed from its history, with a tool that the
// client never sees. It knows how each dialect declares a tool, how a reply calls it, and
// what is left of a reply without that call; whole replies and streams alike. It sends
// nothing: package proxy asks the provider, and reads here what to say and what to show.
//
// A reply in which the tool is not called leaves as it came. One round is a request and its
// reply: where the model calls this tool alone, the call and its result are appended to the
// history, and the next round goes on; the client sees what was said in all of them as one
// reply. Where the model calls tools of the client as well, the client gets those only, and
// what was hidden is put back into its next request.
package recall
