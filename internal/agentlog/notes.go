package agentlog

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
)

// A Note holds the metadata of a message in a session file.
type Note struct {
	Time  time.Time
	Model string
	// Usage holds the billed tokens of the reply that ends with the message. WrittenForHour is the
	// part of Usage.Written that is cached for an hour.
	Usage          tokens.Usage
	WrittenForHour int
	// Dollars is the cost of the reply as the agent recorded it.
	Dollars float64
	// Summary is true if the message replaces earlier messages.
	Summary bool
}

// Cost returns the cost of a reply in dollars: as recorded by the agent, or by list price. It
// returns false if neither is known.
func (n Note) Cost(model string) (dollars float64, known bool) {
	if n.Dollars > 0 {
		return n.Dollars, true
	}
	model = cmp.Or(n.Model, model)
	price, known := tokens.PriceOf(model)
	if !known || n.Usage == (tokens.Usage{}) {
		return 0, false
	}
	terms := tokens.CacheOf(model)
	short := n.Usage
	short.Written -= n.WrittenForHour
	dollars = price.Cost(terms, short)
	terms.Write = hourWrite
	return dollars + price.Cost(terms, tokens.Usage{Written: n.WrittenForHour}), true
}

// hourWrite is the price of writing a token to an hour-long cache, in thousandths of the input
// price.
const hourWrite = 2000

// Pace returns the growth of a thread by the recorded usage of its replies.
func (l *Log) Pace(t *Thread) (p fullness.Pace) {
	ms, turns := t.Request.Transcript().Messages(), 0
	for i, n := range l.Notes(t) {
		if ms[i].Begins && (i == 0 || !ms[i-1].Begins) {
			turns++
		}
		if n.Usage == (tokens.Usage{}) {
			continue
		}
		model := cmp.Or(n.Model, t.Request.Model())
		dollars, _ := n.Cost(model)
		p.Add(fullness.Step{Model: model, Usage: n.Usage, Turns: turns, Dollars: dollars})
	}
	if p.Requests > 0 {
		p.Turns = turns
	}
	return p
}

// Notes returns the metadata of each message of a thread.
func (l *Log) Notes(t *Thread) []Note {
	all := make([]Note, len(t.sources))
	last := make(map[string]int) // by id of a reply: the message with its usage
	for i, p := range t.sources {
		if p.unit < 0 || p.unit >= len(l.units) {
			continue
		}
		o := objectAt(l.raw, l.units[p.unit].span)
		if l.owners != nil {
			o = objectAt(l.raw, l.units[l.owners[p.unit]].span)
		}
		n, id := readNote(o)
		if n.Usage != (tokens.Usage{}) && id != "" {
			// The lines of one reply repeat its usage. The last one is complete.
			if old, ok := last[id]; ok {
				all[old].Usage, all[old].WrittenForHour, all[old].Dollars = tokens.Usage{}, 0, 0
			}
			last[id] = i
		}
		all[i] = n
	}
	if l.Format == Codex {
		l.addCodexUsage(t, all)
	}
	return all
}

// readNote returns the metadata of a message and the id of its reply.
func readNote(o object) (n Note, id string) {
	m := o.Object("message")
	n.Time = firstTime(o.Value("timestamp"), m.Value("timestamp"), o.Object("time").Value("created"), o.Value("created"))
	for _, from := range []object{m, o, o.Object("model")} {
		n.Model = cmp.Or(n.Model, from.Text("model"), from.Text("modelID"), from.Text("modelId"))
	}
	if strings.HasPrefix(n.Model, "<") { // <synthetic>
		n.Model = ""
	}
	n.Summary = o.Is("isCompactSummary") || o.Is("summary") || o.Text("type") == "compaction" || o.Text("type") == "compacted"
	id = m.Text("id")
	for _, u := range []object{m.Object("usage"), o.Object("usage"), o.Object("usageMetadata"), o.Object("tokens")} {
		if n.Usage, n.WrittenForHour, n.Dollars = readUsage(u); n.Usage != (tokens.Usage{}) {
			break
		}
	}
	n.Dollars = cmp.Or(n.Dollars, nonNegative(o, "cost"))
	return n, id
}

// readUsage parses the usage of a reply in the forms of the APIs and the agents.
func readUsage(u object) (n tokens.Usage, hour int, dollars float64) {
	switch {
	case u.Has("input_tokens"): // Anthropic, and Codex, where cached tokens are included in the input
		cached := u.Number("cached_input_tokens")
		n = tokens.Usage{Input: max(0, u.Number("input_tokens")-cached), Read: cached + u.Number("cache_read_input_tokens"),
			Written: u.Number("cache_creation_input_tokens"), Output: u.Number("output_tokens")}
		hour = min(n.Written, u.Object("cache_creation").Number("ephemeral_1h_input_tokens"))
	case u.Has("promptTokenCount"):
		cached := u.Number("cachedContentTokenCount")
		n = tokens.Usage{Input: max(0, u.Number("promptTokenCount")-cached), Read: cached, Output: u.Number("candidatesTokenCount") + u.Number("thoughtsTokenCount")}
	case u.Has("cacheRead"): // pi
		n = tokens.Usage{Input: u.Number("input"), Read: u.Number("cacheRead"), Written: u.Number("cacheWrite"), Output: u.Number("output")}
		dollars = nonNegative(u.Object("cost"), "total")
	case u.Has("cache"): // opencode
		n = tokens.Usage{Input: u.Number("input"), Read: u.Object("cache").Number("read"), Written: u.Object("cache").Number("write"), Output: u.Number("output") + u.Number("reasoning")}
	case u.Has("input"): // Gemini CLI, where cached tokens are included in the input
		cached := u.Number("cached")
		n = tokens.Usage{Input: max(0, u.Number("input")-cached), Read: cached, Output: u.Number("output") + u.Number("thoughts")}
	}
	return n, hour, dollars
}

// addCodexUsage adds the usage of replies, which Codex writes in separate records.
func (l *Log) addCodexUsage(t *Thread, all []Note) {
	ms := t.Request.Transcript().Messages()
	model := t.Request.Model()
	for i := range all {
		end := len(l.units)
		if i+1 < len(t.sources) {
			end = t.sources[i+1].unit
		}
		for u := t.sources[i].unit; u < end; u++ {
			raw := l.raw[l.units[u].span.Start:l.units[u].span.End]
			if !bytes.Contains(raw, []byte(`"token_count"`)) {
				continue
			}
			use, hour, _ := readUsage(objectAt(l.raw, l.units[u].span).Object("payload").Object("info").Object("last_token_usage"))
			k := i
			for k >= 0 && ms[k].Role != transcript.Assistant {
				k--
			}
			if k >= 0 && use != (tokens.Usage{}) {
				all[k].Usage, all[k].WrittenForHour = use, hour
			}
		}
		if ms[i].Role == transcript.Assistant {
			all[i].Model = cmp.Or(all[i].Model, model)
		}
	}
}

// nonNegative returns a numeric member, or 0 if it is missing or negative.
func nonNegative(o object, name string) float64 {
	x, err := strconv.ParseFloat(string(o.Value(name)), 64)
	if err != nil || x < 0 {
		return 0
	}
	return x
}

// firstTime returns the first valid time among the values: a text, or milliseconds or seconds since
// 1970.
func firstTime(values ...[]byte) time.Time {
	for _, v := range values {
		if len(v) < 2 {
			continue
		}
		if t, err := time.Parse(time.RFC3339, strings.Trim(string(v), `"`)); err == nil {
			return t
		}
		if n, err := strconv.ParseFloat(string(v), 64); err == nil && n > 1e8 {
			if n < 1e11 {
				n *= 1000
			}
			return time.UnixMilli(int64(n)).UTC()
		}
	}
	return time.Time{}
}
