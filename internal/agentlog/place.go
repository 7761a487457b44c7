package agentlog

// Of returns the thread that the finding is about; nil: it is about the file itself.
// Its Index and Block are those of the thread's request.
func (f *Finding) Of() *Thread { return f.thread }

// Line returns the line of the file that message i of a thread comes from; 0: it is
// not in the file. In a folder it is the line in the message's own file.
func (l *Log) Line(t *Thread, i int) int {
	if i < 0 || i >= len(t.sources) {
		return 0
	}
	return l.units[t.sources[i].unit].line
}
