package recall

import "strconv"

// An Event is one piece of a reply that is streamed.
type Event struct {
	Raw  []byte // as it came; nil: it is written anew
	Name string // that the framing gives it; "": none
	Data []byte // JSON, or nothing that is looked at
	end  bool   // of a list
}

// A Filter passes on a reply that comes piece by piece, without the calls of the tool, over
// as many rounds as there are. What it does not change it passes on as it came. One
// goroutine uses it.
type Filter interface {
	// Take takes an event of the provider's and returns what passes on.
	Take(Event) []Event
	// Turn is what the model has said when its reply has ended. Where the model waits for
	// the tool alone, the end of the reply has been held back.
	Turn() *Turn
	// Next begins the next round. What was held back is forgotten.
	Next()
	// Close ends the reply although the model waits for the tool: what was held back.
	Close() []Event
}

// changed is an event with other data.
func (e Event) changed(data []byte) Event { return Event{Name: e.Name, Data: data} }

// numbered gives the member of that name a number, if it has another one.
func (e Event) numbered(n int, path ...any) Event {
	if number(e.Data, path...) == n {
		return e
	}
	return e.changed(set(e.Data, strconv.AppendInt(nil, int64(n), 10), path...))
}
