package histories

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// An Op is the kind of a step.
type Op uint8

const (
	System Op = iota // the system prompt; only as the first step
	User             // a person writes Text
	Image            // a person shows a picture
	Think            // the model reasons: Text
	Say              // the model writes Text
	Call             // the model calls Tool with Args as ID
	Result           // Text answers the latest call of ID
	Fail             // like Result, reporting an error
)

var opNames = [...]string{"system", "user", "image", "think", "say", "call", "result", "fail"}

func (o Op) String() string { return opNames[o] }

// A Step is one event of a conversation.
type Step struct {
	Op   Op
	Text string
	ID   string // of Call, Result and Fail
	Tool string // of Call
	Args string // of Call: a JSON object
}

// A Script is a conversation without a dialect.
type Script []Step

// isResult reports whether the step is a result, failed or not.
func (s Step) isResult() bool { return s.Op == Result || s.Op == Fail }

// speaker is whose turn a step belongs to.
type speaker uint8

const (
	noSpeaker speaker = iota
	person
	model
	tool
)

func (s Step) speaker() speaker {
	switch s.Op {
	case User, Image:
		return person
	case Think, Say, Call:
		return model
	case Result, Fail:
		return tool
	}
	return noSpeaker
}

// String returns the script in the notation, on one line. Parse reads it back.
func (s Script) String() string {
	steps := make([]string, len(s))
	for i, step := range s {
		steps[i] = s.format(i, step)
	}
	return strings.Join(steps, " | ")
}

func (s Script) format(i int, step Step) string {
	switch step.Op {
	case Image:
		return "image"
	case Call:
		out := "call " + step.ID + " " + step.Tool
		if step.Args != "{}" {
			out += " " + shortArgs(step.Args)
		}
		return out
	case Result, Fail:
		verb := step.Op.String()
		if s.callOf(i) < 0 {
			verb = "orphan"
		}
		if step.Text == "" {
			return verb + " " + step.ID
		}
		return verb + " " + step.ID + " " + shortText(step.Text)
	}
	return step.Op.String() + " " + string(jsonspan.AppendQuote(nil, step.Text))
}

// shortArgs writes {"path":"word"} as word.
func shortArgs(args string) string {
	word, ok := strings.CutPrefix(args, `{"path":"`)
	if word, found := strings.CutSuffix(word, `"}`); ok && found && word != "" && !strings.ContainsAny(word, " |=\"\\{") && isPrintable(word) {
		return word
	}
	return args
}

// shortText leaves out the quotes if the text is unambiguous without them.
func shortText(t string) string {
	if strings.ContainsAny(t, "|\"\\") || !isPrintable(t) || strings.TrimSpace(t) != t {
		return string(jsonspan.AppendQuote(nil, t))
	}
	return t
}

func isPrintable(s string) bool {
	for _, r := range s {
		if r < ' ' {
			return false
		}
	}
	return true
}

// callOf returns the step of the call that step i answers: the latest one of its
// id, or -1.
func (s Script) callOf(i int) int {
	for j := i - 1; j >= 0; j-- {
		if s[j].Op == Call && s[j].ID == s[i].ID {
			return j
		}
	}
	return -1
}

// Rename returns the script with every id replaced by to(id).
func (s Script) Rename(to func(id string) string) Script {
	out := slices.Clone(s)
	for i := range out {
		if out[i].Op == Call || out[i].isResult() {
			out[i].ID = to(out[i].ID)
		}
	}
	return out
}

// Valid returns nil if the rendering of the script breaks no rule of any dialect: a person
// starts, a person or a result ends, every call is answered once right after its turn, no text
// is blank, and the model continues after thinking. Otherwise the error names the first step
// that breaks this.
func (s Script) Valid() error {
	fault := func(i int, why string) error { return fmt.Errorf("step %d (%s): %s", i+1, s[i].Op, why) }
	open := map[string]bool{} // calls of the current turn that are unanswered
	asked := map[string]bool{}
	last := noSpeaker
	for i, step := range s {
		by := step.speaker()
		if len(open) > 0 && by != tool && !(by == model && last == model) {
			return fault(i, "the calls before it are not all answered")
		}
		if by == model && last != model {
			clear(asked)
		}
		switch {
		case step.Op == System && i > 0:
			return fault(i, "the system prompt stands first")
		case last == noSpeaker && by != noSpeaker && by != person:
			return fault(i, "a person begins")
		case step.Op == Call && asked[step.ID]:
			return fault(i, "an id twice in one turn")
		case step.Op == Call && !isPlainID(step.ID):
			return fault(i, "an id that goes out as it stands")
		case step.Op == Call:
			open[step.ID], asked[step.ID] = true, true
		case by == tool && !open[step.ID]:
			return fault(i, "no open call of that id in the turn before")
		case by == tool:
			delete(open, step.ID)
		case step.Op == Think && (i+1 == len(s) || s[i+1].speaker() != model):
			return fault(i, "thinking leads to nothing")
		}
		if step.Op != Image && step.Op != Call && step.Op != Result && strings.TrimSpace(step.Text) == "" {
			return fault(i, "a blank text")
		}
		if by != noSpeaker {
			last = by
		}
	}
	switch {
	case len(s) == 0 || last == noSpeaker:
		return fmt.Errorf("nobody says anything")
	case last == model:
		return fault(len(s)-1, "the model has the last word")
	case len(open) > 0:
		return fault(len(s)-1, "a call is not answered")
	}
	return nil
}
