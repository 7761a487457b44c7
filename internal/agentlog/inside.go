package agentlog

// The parts of pare and wire that only this module may use.
var ()
