package agentlog

// Of returns the thread of the finding, or nil for a finding about the file itself. Index and Block
// of the finding refer to the thread's request.
func (f *Finding) Of() *Thread { return f.thread }

// Line returns the line of message i of a thread, or 0 if the message is not in the file. In a
// folder it is the line in the message's own file.
func (l *Log) Line(t *Thread, i int) int {
	if i < 0 || i >= len(t.sources) {
		return 0
	}
	return l.units[t.sources[i].unit].line
}
