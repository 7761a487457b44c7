package summary

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// facts are what is copied out of the removed part, each list in the order of the
// talk.
type facts struct {
	messages  int
	requests  []request
	files     []file // by last touch
	commands  []ran  // by last run
	decisions []string
	questions []string // open ones, worded
	todos     []todo   // the latest list
	errors    []mishap // those that nothing healed
}

// A request is what the user said, and the question that it may answer.
type request struct{ text, asked string }

type file struct {
	path string
	hows []string
}

type ran struct {
	command string
	outcome transcript.Outcome
	says    string
}

type mishap struct{ tool, target, text string }

// A reader collects facts.
type reader struct {
	facts
	r     *wire.Request
	t     *transcript.Transcript
	gone  map[int]bool // messages of which something was removed
	next  []int        // by message: the next one in which a person speaks, or the number of messages
	final []bool       // by message: no call follows until then
	told  []bool       // by message: the assistant says something until then
	asked string       // the question that the assistant's last answer ends with
	asker int          // the message it stands in
}

// read collects the facts of what was removed.
func read(h pare.Removed) facts {
	f := &reader{r: h.Request, t: h.Request.Transcript(), gone: make(map[int]bool)}
	f.lookAhead()
	for _, b := range h.Blocks {
		f.gone[f.t.Block(b).Message] = true
	}
	f.messages = len(f.gone)
	for _, b := range h.Blocks {
		blk := f.t.Block(b)
		role := f.t.Messages()[blk.Message].Role
		switch {
		case blk.Kind == transcript.Call:
			f.call(b)
		case blk.Kind == transcript.Compaction:
			f.said(blk.Message, dialect.Compaction(h.Request, b))
		case blk.Kind == transcript.Text && role == transcript.Assistant:
			if text := h.Text(b); !dialect.OwnReply(text) {
				f.said(blk.Message, text)
			}
		case blk.Kind == transcript.Text && role == transcript.User:
			f.request(blk.Message, h.Text(b))
		case blk.Kind == transcript.Media && f.t.Messages()[blk.Message].Speaks:
			f.requests = append(f.requests, request{text: "[a picture or a document]"})
		}
	}
	f.leaveOpen()
	return f.facts
}

// lookAhead finds, for each message, what happens until a person speaks again.
func (f *reader) lookAhead() {
	all := f.t.Messages()
	f.next, f.final, f.told = make([]int, len(all)), make([]bool, len(all)), make([]bool, len(all))
	next, final, told := len(all), true, false
	for i := len(all) - 1; i >= 0; i-- {
		f.told[i] = told
		for b := all[i].First; b < all[i].End; b++ {
			final = final && f.t.Block(b).Kind != transcript.Call
			told = told || f.t.Block(b).Kind == transcript.Text && all[i].Role == transcript.Assistant
		}
		f.next[i], f.final[i] = next, final
		if all[i].Begins && all[i].Role != transcript.System {
			next, final, told = i, true, false
		}
	}
}

// reminders are what clients put into the user's messages.
var reminders = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`)
})

// request takes in what the user said.
func (f *reader) request(message int, text string) {
	text = strings.TrimSpace(reminders().ReplaceAllString(dialect.PersonsWords(text), ""))
	if text == "" {
		return
	}
	q := request{text: text}
	if f.asked != "" && f.next[f.asker] == message {
		q.asked, f.asked = f.asked, ""
	}
	f.requests = append(f.requests, q)
	if f.told[message] || f.next[message] < len(f.t.Messages()) {
		return // answered, or left behind by the user
	}
	for _, s := range sentences(text) {
		if strings.HasSuffix(s, "?") {
			f.questions = append(f.questions, "the user asks: “"+s+"”")
		}
	}
}

// deciding are words of sentences that decide or conclude, in lower case.
var deciding = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:i'll|i’ll|i will|i am going to|i'm going to|let's|decided|decision|instead|because|therefore|root cause|turns out|the (?:problem|issue|bug|cause|reason|fix|solution) (?:is|was)|conclusion|going with|in summary|must not|we (?:will|should|need to|use)|chose|choose)\b`)
})

// said takes in what the assistant said. Its last words before the user speaks again
// are an answer.
func (f *reader) said(message int, text string) {
	f.asked = ""
	all := sentences(text)
	if f.final[message] {
		if p := paragraph(text); p != "" {
			f.decisions = append(f.decisions, p)
		}
		if n := len(all); n > 0 && strings.HasSuffix(all[n-1], "?") {
			f.asked, f.asker = all[n-1], message
			f.leaveOpen()
		}
		return
	}
	for _, s := range all {
		if len(s) > 20 && deciding().MatchString(strings.ToLower(s)) {
			f.decisions = append(f.decisions, s)
		}
	}
}

// leaveOpen keeps the question that the assistant has just asked, if what the user
// answers is not removed with it.
func (f *reader) leaveOpen() {
	if f.asked == "" || f.gone[f.next[f.asker]] {
		return
	}
	f.questions = append(f.questions, "asked the user: “"+f.asked+"”")
	f.asked = ""
}

// call takes in a call and what answers it.
func (f *reader) call(b transcript.BlockID) {
	a := actOf(f.t, b)
	text, how := "", transcript.OutcomeUnknown
	if x := f.t.Exchanges()[f.t.ExchangeOf(b)]; len(x.Results) > 0 {
		text = f.r.Text(x.Results[0])
		how = f.r.Outcome(x.Results[0])
	}
	switch {
	case a.asks != "" && how == transcript.OutcomeSucceeded:
		f.decisions = append(f.decisions, "asked the user: “"+a.asks+"”, who said: “"+text+"”")
	case a.asks != "":
		f.questions = append(f.questions, "asked the user: “"+a.asks+"”")
	case a.todos != nil && how != transcript.OutcomeFailed:
		f.todos = a.todos
	}
	if how != transcript.OutcomeFailed {
		f.touch(a.touches)
	}
	if a.command != "" && (how == transcript.OutcomeFailed || matters(a.command)) {
		_, last := ends(text)
		if how == transcript.OutcomeUnknown {
			last = ""
		}
		f.commands = slices.DeleteFunc(f.commands, func(r ran) bool { return r.command == a.command })
		f.commands = latest(append(f.commands, ran{a.command, how, last}))
	}
	if how == transcript.OutcomeUnknown {
		return
	}
	// What works heals what failed before it.
	f.errors = slices.DeleteFunc(f.errors, func(m mishap) bool { return m.tool == a.tool && m.target == a.target })
	if how == transcript.OutcomeFailed {
		f.errors = latest(append(f.errors, mishap{a.tool, a.target, text}))
	}
}

// touch notes files, the one touched last at the end.
func (f *reader) touch(all []touch) {
	for _, x := range all {
		t := file{path: x.path}
		if i := slices.IndexFunc(f.files, func(o file) bool { return o.path == x.path }); i >= 0 {
			t = f.files[i]
			f.files = slices.Delete(f.files, i, i+1)
		}
		if !slices.Contains(t.hows, x.how) {
			t.hows = append(t.hows, x.how)
		}
		f.files = latest(append(f.files, t))
	}
}

// latest bounds a list that is searched for each call.
func latest[T any](all []T) []T { return all[max(0, len(all)-200):] }
