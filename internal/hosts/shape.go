package hosts

import "strings"

// A kind is the role of a part in a message.
type kind uint8

const (
	kindUnsent    kind = iota // not sent
	kindStepStart             // not sent; results of the preceding calls come before it
	kindText                  // text of a speaker
	kindReasoning             // reasoning of the model
	kindMedia                 // an image or a file
	kindOpaque                // sent, but never read or changed
	kindCall
	kindResult
	kindCallWithResult // a call with its result, if there is one yet
	kindServerCall     // a call that the provider executes
	kindServerResult   // the result of such a call
)

// A partSpec describes a type of parts by the paths of its members; see [object.get].
type partSpec struct {
	typeName   string // a type, or a prefix with a * at the end
	kind       kind
	textPath   string // of a text
	idPath     string
	namePath   string
	inputPath  string // of a call
	outputPath string // of a result
	// isEnded reports whether a kindCallWithResult has a result.
	isEnded func(object) bool
	// isFailed reports whether a result is an error.
	isFailed func(object) bool
	// isPending reports whether a call waits for a person and has no result for that reason.
	isPending func(object) bool
	// isServerSide reports whether the provider executes the call.
	isServerSide func(object) bool
}

// A role is the speaker of an element.
type role uint8

const (
	roleUnknown   role = iota
	roleSystem         // instructions
	roleUser           // the user, and results
	roleAssistant      // the model
	roleUnsent         // not sent
)

func (r role) String() string { return [...]string{"", "system", "user", "assistant", ""}[r] }

// A shape describes the lists of a framework.
type shape struct {
	name        string
	description string
	listMembers []string // members of an object that may hold the list
	// identifies reports whether an element can belong only to this shape.
	identifies func(object) bool
	// messageMember returns the path of the message in an element, or "" for the element itself.
	messageMember func(object) string
	// roleOf returns the role of an element, given its message.
	roleOf func(el, message object) role
	// wholePart returns the spec of a message that is a single part, or nil for a message with
	// parts.
	wholePart func(message object) *partSpec
	// contentPath returns the path of the text or the parts of a message.
	contentPath func(message object) string
	parts       []partSpec
	// callsMember is the path of calls outside of the content. callPart describes them.
	callsMember string
	callPart    partSpec
	// copyPaths are the paths of lists that repeat the calls for other readers.
	copyPaths []string
	// matchesByName is true if calls may lack ids. Their results then match by name, in order.
	matchesByName bool
	// resultsAdjacent is true if a result answers the call directly before it.
	resultsAdjacent bool
	// strictTurns is true if the results of a message must come before the next assistant message.
	// Otherwise neighboring assistant messages form one turn.
	strictTurns bool
	// approvalType is the type of a part that requests approval of a call, which has no result yet.
	approvalType string

	// newResult returns an element with the result of a call, to be inserted after near.
	newResult func(near object, message string, c *unit, text []byte) []byte
	// endCall returns a part with the result of its call added. It is nil if results are elements.
	endCall func(part []byte, text []byte) []byte
	// newMessage returns a new element; near is a neighbor.
	newMessage func(near object, message string, who role, text []byte) []byte
}

// partFor returns the spec of a type of parts, or nil.
func (s *shape) partFor(kind string) *partSpec {
	for i := range s.parts {
		p := &s.parts[i]
		if begin, isPrefix := strings.CutSuffix(p.typeName, "*"); p.typeName == kind || isPrefix && strings.HasPrefix(kind, begin) {
			return p
		}
	}
	return nil
}

// Names returns the names of all shapes, for the flag --as.
func Names() (all []string) {
	for i := range shapes {
		all = append(all, shapes[i].name)
	}
	return all
}

// Known reports whether there is a shape with that name.
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
