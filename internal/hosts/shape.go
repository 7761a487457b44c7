package hosts

import "strings"

// A kind is what a part of a message is.
type kind uint8

const (
	silent       kind = iota // nothing is sent of it
	step                     // nothing, and what was called in front of it is answered in front of it
	text                     // somebody's words
	reasoning                // the model's thoughts
	media                    // a picture, a file
	sealed                   // it is sent, and nobody here looks inside
	call                     // a call
	result                   // a result
	both                     // a call that holds its result, once there is one
	serverCall               // a call that the provider carries out
	serverResult             // and its result
)

// A part is a row of a shape: what the members of a part mean. Paths are those of [object.get].
type part struct {
	as   string // its type; with a * at the end, how it begins
	kind kind
	say  string // of a text
	id   string
	name string
	in   string // the input of a call
	out  string // the output of a result
	// ended tells whether a call that holds its result has one.
	ended func(object) bool
	// failed tells whether a result is an error.
	failed func(object) bool
	// pending is a call that waits for somebody and has no result for a reason.
	pending func(object) bool
	// server tells whether the provider carries it out.
	server func(object) bool
}

// A role is who says an element.
type role uint8

const (
	nobody    role = iota // nobody who is known
	system                // instructions
	user                  // the user, and results
	assistant             // the model
	aside                 // nothing is sent of it
)

func (r role) String() string { return [...]string{"", "system", "user", "assistant", ""}[r] }

// A shape is how the programs of a framework hold a conversation: a row of the table.
type shape struct {
	name  string
	doc   string
	lists []string // members of an object that may hold the list
	// proof tells whether an element can only be one of this shape.
	proof func(object) bool
	// inner is the member of an element that holds its message; "": the element itself.
	inner func(object) string
	// role is who says an element, given with its message.
	role func(el, message object) role
	// whole is the row of a message that is one part as a whole; nil: it has parts.
	whole func(message object) *part
	// content is what holds the text or the parts of a message.
	content func(message object) string
	parts   []part
	// calls is where a message has calls beside its content, and the row of them.
	calls string
	call  part
	// copies are lists in which the same calls stand once more, for others to read.
	copies []string
	// nameless: calls may have no ids; then results belong to them by name, in order.
	nameless bool
	// adjacent: a result answers the call right in front of it.
	adjacent bool
	// strict: the results of a message stand in front of the next one of the model. Else neighbours of the
	// model are one turn.
	strict bool
	// approval is the type of a part that asks whether a call may be carried out: it has no result yet.
	approval string

	// stub writes the result of a call that has none, as an element of its own behind near.
	stub func(near object, message string, c *unit, text []byte) []byte
	// end writes the result into a part that is a call; nil: results are elements.
	end func(part []byte, text []byte) []byte
	// says writes an element that is new; near is a neighbour.
	says func(near object, message string, who role, text []byte) []byte
}

// row is the row of a part of that type, or nil.
func (s *shape) row(kind string) *part {
	for i := range s.parts {
		p := &s.parts[i]
		if begin, some := strings.CutSuffix(p.as, "*"); p.as == kind || some && strings.HasPrefix(kind, begin) {
			return p
		}
	}
	return nil
}

// Names are the names of all shapes, as --as takes them.
func Names() (all []string) {
	for i := range shapes {
		all = append(all, shapes[i].name)
	}
	return all
}

// Known reports whether there is a shape of that name.
func Known(name string) bool { return named(name) != nil }

func named(name string) *shape {
	for i := range shapes {
		if shapes[i].name == strings.ToLower(name) {
			return &shapes[i]
		}
	}
	return nil
}

func itself(object) string { return "" }

func under(path string) func(object) string { return func(object) string { return path } }

func member(path, value string) func(object) bool {
	return func(o object) bool { return o.text(path) == value }
}

func truth(path string) func(object) bool { return func(o object) bool { return o.is(path) } }
