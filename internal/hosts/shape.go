package hosts

import "strings"

// A kind is what a part of a message is.
type kind uint8

const (
	kindUnsent         kind = iota // nothing is sent of it
	kindStepStart                  // nothing, and what was called in front of it is answered in front of it
	kindText                       // somebody's words
	kindReasoning                  // the model's thoughts
	kindMedia                      // a picture, a file
	kindOpaque                     // it is sent, and nobody here looks inside
	kindCall                       // a call
	kindResult                     // a result
	kindCallWithResult             // a call that holds its result, once there is one
	kindServerCall                 // a call that the provider carries out
	kindServerResult               // and its result
)

// A part is a row of a shape: what the members of a part mean. Paths are those of [object.get].
type partSpec struct {
	typeName   string // its type; with a * at the end, how it begins
	kind       kind
	textPath   string // of a text
	idPath     string
	namePath   string
	inputPath  string // the input of a call
	outputPath string // the output of a result
	// ended tells whether a call that holds its result has one.
	isEnded func(object) bool
	// failed tells whether a result is an error.
	isFailed func(object) bool
	// pending is a call that waits for somebody and has no result for a reason.
	isPending func(object) bool
	// server tells whether the provider carries it out.
	isServerSide func(object) bool
}

// A role is who says an element.
type role uint8

const (
	roleUnknown   role = iota // nobody who is known
	roleSystem                // instructions
	roleUser                  // the user, and results
	roleAssistant             // the model
	roleUnsent                // nothing is sent of it
)

func (r role) String() string { return [...]string{"", "system", "user", "assistant", ""}[r] }

// A shape is how the programs of a framework hold a conversation: a row of the table.
type shape struct {
	name        string
	description string
	listMembers []string // members of an object that may hold the list
	// proof tells whether an element can only be one of this shape.
	identifies func(object) bool
	// inner is the member of an element that holds its message; "": the element itself.
	messageMember func(object) string
	// role is who says an element, given with its message.
	roleOf func(el, message object) role
	// whole is the row of a message that is one part as a whole; nil: it has parts.
	wholePart func(message object) *partSpec
	// content is what holds the text or the parts of a message.
	contentPath func(message object) string
	parts       []partSpec
	// calls is where a message has calls beside its content, and the row of them.
	callsMember string
	callPart    partSpec
	// copies are lists in which the same calls stand once more, for others to read.
	copyPaths []string
	// nameless: calls may have no ids; then results belong to them by name, in order.
	matchesByName bool
	// adjacent: a result answers the call right in front of it.
	resultsAdjacent bool
	// strict: the results of a message stand in front of the next one of the model. Else neighbours of the
	// model are one turn.
	strictTurns bool
	// approval is the type of a part that asks whether a call may be carried out: it has no result yet.
	approvalType string

	// stub writes the result of a call that has none, as an element of its own behind near.
	newResult func(near object, message string, c *unit, text []byte) []byte
	// end writes the result into a part that is a call; nil: results are elements.
	endCall func(part []byte, text []byte) []byte
	// says writes an element that is new; near is a neighbour.
	newMessage func(near object, message string, who role, text []byte) []byte
}

// row is the row of a part of that type, or nil.
func (s *shape) partFor(kind string) *partSpec {
	for i := range s.parts {
		p := &s.parts[i]
		if begin, some := strings.CutSuffix(p.typeName, "*"); p.typeName == kind || some && strings.HasPrefix(kind, begin) {
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
func Known(name string) bool { return findShape(name) != nil }

func findShape(name string) *shape {
	for i := range shapes {
		if shapes[i].name == strings.ToLower(name) {
			return &shapes[i]
		}
	}
	return nil
}

func noMember(object) string { return "" }

func always(path string) func(object) string { return func(object) string { return path } }

func memberEquals(path, value string) func(object) bool {
	return func(o object) bool { return o.text(path) == value }
}

func memberIsTrue(path string) func(object) bool { return func(o object) bool { return o.is(path) } }
