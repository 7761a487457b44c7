package oracle

import "strings"

// gemini checks Gemini. A run of model turns is one step. Its calls are answered in the next
// turn, each by one response of its id, or by name in order if there are no ids; of equal ids
// the name decides. Models before the third generation accept the responses in several turns.
// A response that announces a continuation is a part of the response that follows it, unless
// its function is declared and blocks.
func (c *judge) gemini() {
	turns := c.turns("parts", false)
	several := strings.Contains(c.model(), "gemini-2") || strings.Contains(c.model(), "gemini-1")
	for i := 0; i < len(turns); {
		if turns[i].role != "model" {
			for _, b := range turns[i].parts {
				c.strayPart(b)
			}
			i++
			continue
		}
		var open []part
		first := i
		for ; i < len(turns) && turns[i].role == "model"; i++ {
			for _, b := range turns[i].parts {
				if b.has("functionCall") {
					open = append(open, b)
				}
				if b.has("functionResponse") {
					c.fault(Misplaced, b.object.object("functionResponse").text("id"), "%s", b.path)
				}
			}
		}
		if len(open) == 0 {
			continue
		}
		if first == 0 {
			c.fault(Roles, "", "%d", turns[0].first)
		}
		i = c.answered(turns, i, open, several)
	}
}

// strayPart judges a part of a turn that answers no calls.
func (c *judge) strayPart(b part) {
	if b.has("functionResponse") {
		c.fault(Orphan, b.object.object("functionResponse").text("id"), "%s", b.path)
	}
	if b.has("functionCall") {
		c.fault(Misplaced, b.object.object("functionCall").text("id"), "%s", b.path)
	}
}

// answered assigns the responses from turn i on to open calls and returns the turn after them.
func (c *judge) answered(turns []turn, i int, open []part, several bool) int {
	done := make([]bool, len(open))
	named := make([]bool, len(open)) // answered by a response of their id and name
	continued := map[int]bool{}      // calls whose responses go on
	for n := 0; i < len(turns) && turns[i].role != "model"; n++ {
		answers := false
		for _, b := range turns[i].parts {
			answers = answers || b.has("functionResponse")
		}
		if !answers || n > 0 && !several {
			break
		}
		valid := turns[i].role == "user" || turns[i].role == "function" || turns[i].role == ""
		var sure, rest []part // those with the id and the name of a call come first
		for _, b := range turns[i].parts {
			if b.has("functionCall") || !valid {
				c.strayPart(b)
			}
			if !b.has("functionResponse") {
				continue
			}
			if other := b.object.object("functionResponse"); answersOther(open, other) {
				rest = append(rest, b)
			} else {
				sure = append(sure, b)
			}
		}
		for _, b := range append(sure, rest...) {
			r := b.object.object("functionResponse")
			at := findCall(open, done, named, continued, r)
			switch {
			case at < 0 && wasAnswered(open, done, named, r):
				c.fault(Twice, r.text("id"), "%s", b.path)
			case at < 0:
				c.fault(Orphan, r.text("id"), "%s", b.path)
			default:
				more, _ := r["willContinue"].(bool)
				done[at], continued[at] = true, more && !c.blocks(r.text("name"))
				named[at] = named[at] || sameCall(open[at], r)
			}
		}
		i++
	}
	for k, b := range open {
		if !done[k] {
			c.fault(Unanswered, b.object.object("functionCall").text("id"), "%s", b.path)
		}
	}
	return i
}

// blocks reports whether a function is declared and does not say that it does not block.
func (c *judge) blocks(name string) bool {
	for _, t := range c.body.list("tools") {
		for _, key := range []string{"functionDeclarations", "function_declarations"} {
			for _, f := range asObject(t).list(key) {
				if d := asObject(f); d.text("name") == name {
					return d.text("behavior") != "NON_BLOCKING"
				}
			}
		}
	}
	return false
}

// sameCall reports whether a response has the id and the name of a call.
func sameCall(b part, r object) bool {
	call := b.object.object("functionCall")
	return call.text("id") == r.text("id") && call.text("name") == r.text("name")
}

// findCall finds the call that a response answers: by id and name, then by id, unless the
// call of its id and name has such an answer already (then it repeats that one), then, where
// one of them has no id, by name.
func findCall(open []part, done, named []bool, continued map[int]bool, r object) int {
	id, name := r.text("id"), r.text("name")
	repeats := false
	for k, b := range open {
		repeats = repeats || named[k] && sameCall(b, r)
	}
	for _, fits := range []func(call object) bool{
		func(call object) bool { return id != "" && call.text("id") == id && call.text("name") == name },
		func(call object) bool { return id != "" && call.text("id") == id && !repeats },
		func(call object) bool { return (id == "" || call.text("id") == "") && call.text("name") == name },
	} {
		for _, going := range []bool{false, true} { // calls without an answer come first
			for k, b := range open {
				if (!done[k] && !going || continued[k] && going) && fits(b.object.object("functionCall")) {
					return k
				}
			}
		}
	}
	return -1
}

// answersOther reports whether a response has the id of calls, but the name of none of them.
func answersOther(open []part, r object) bool {
	id := false
	for _, b := range open {
		if sameCall(b, r) || r.text("name") == "" {
			return false
		}
		id = id || r.text("id") != "" && b.object.object("functionCall").text("id") == r.text("id")
	}
	return id
}

// wasAnswered reports whether a response repeats one that is there already. It does not,
// if that one has the name of the call and this one another.
func wasAnswered(open []part, done, named []bool, r object) bool {
	for k, b := range open {
		call := b.object.object("functionCall")
		if named[k] && r.text("name") != "" && call.text("name") != r.text("name") {
			continue
		}
		if done[k] && call.text("id") == r.text("id") && (r.text("id") != "" || call.text("name") == r.text("name")) {
			return true
		}
	}
	return false
}
