package planner

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/grapheme"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// minTextTokens is the number of tokens that the text of a summary needs at least.
const minTextTokens = 48

// unsummarized is the text of a summary that could not be written.
const unsummarized = "What stood here was not summarized."

// summaryLevels keeps the summaries of a history within a bound, so that the history can be
// compacted any number of times. A summary of level 1 replaces a part of the conversation. When all
// summaries would pass the bound, the oldest ones of the lowest level with several summaries are
// condensed into one of the next level. So the summaries of recent content are detailed, and those
// of old content are short.
type summaryLevels struct {
	maxTokens int // of all summaries, with the lines about their losses
	count     func(text string) int
	counter   wire.Counter // for summarizers
	write     func(Removed) (Summary, error)
	name      nameFunc
	// mustStay reports whether a summary must not be condensed, in addition to pinned ones. May be
	// nil.
	mustStay func(record) bool
	// lenient shortens summaries that cannot be condensed. It is for windows, which must fit anyway.
	lenient bool
}

// add writes a summary of removed content after the earlier ones, and makes room for it. A summary
// takes at most half of the remaining room, but may take a quarter of the bound.
func (v *summaryLevels) add(h Removed, lost loss) (text string, summary Summary, err error) {
	records := parseRecords(h.Prior)
	removedTokens := v.maxSummaryTokens(&h)
	if err := v.checkRoom(records, lost, removedTokens); err != nil {
		return "", Summary{}, err
	}
	room := min(max(v.quarter(lost), v.freeTokens(records)/2), v.maxTokens, removedTokens)
	h.MaxTokens, h.Counter = max(1, room-v.lineTokens(lost)), v.counter
	if summary, err = v.write(h); err != nil {
		return "", Summary{}, err
	}
	next := record{lost, strings.TrimSpace(summary.Text)}
	next.pinned = summary.Pinned
	if !summary.Pinned {
		limit := max(room, min(v.freeTokens(records), removedTokens))
		if next.text, err = v.crop(quoteMarks(next.text), lost, limit); err != nil {
			return "", Summary{}, err
		}
	}
	if records, err = v.fit(append(records, next)); err != nil {
		return "", summary, err
	}
	return joinRecords(records), summary, nil
}

// addUnsummarized adds the record of content that could not be summarized. It returns "" if there
// is no room.
func (v *summaryLevels) addUnsummarized(prior string, lost loss) string {
	records := parseRecords(prior)
	last := len(records) - 1
	if last >= 0 && records[last].text == unsummarized {
		lost = v.joinLosses(records[last], lost)
		records, last = records[:last], last-1
	}
	if fitted, err := v.fit(append(slices.Clip(records), record{lost, unsummarized})); err == nil {
		return joinRecords(fitted)
	}
	if last < 0 || v.stays(records[last]) {
		return ""
	}
	// The summary before it then replaces both.
	both := v.joinLosses(records[last], lost)
	both.level++
	fitted, err := v.fit(append(records[:last:last], record{both, records[last].text}))
	if err != nil {
		return ""
	}
	return joinRecords(fitted)
}

// joinLosses returns the loss of a record and an unsummarized loss together.
func (v *summaryLevels) joinLosses(r record, lost loss) loss {
	both := r.plus(lost)
	both.archive = v.name([]record{r, {lost, unsummarized}})
	return both
}

// maxSummaryTokens returns how many tokens a summary of removed blocks may have, so that the
// history gets smaller: their own tokens, minus those of the marks around a summary.
func (v *summaryLevels) maxSummaryTokens(h *Removed) int {
	if v.lenient {
		return v.maxTokens // the window has reserved room
	}
	frame := dialect.FrameTokens(v.counter)
	n, previous := 0, -1
	for _, b := range h.Blocks {
		n += dialect.BlockTokens(h.Request, v.counter, b)
		m := h.Request.Transcript().Block(b).Message
		if m != previous {
			n += frame
		}
		previous = m
	}
	return n - v.count(wording.SummaryBegin) - v.count(wording.SummaryEnd) - frame - 2
}

// lineTokens returns the tokens of the line about a loss. Four of them are for the size of the text
// and the line break.
func (v *summaryLevels) lineTokens(l loss) int { return v.count(l.withText("")) + 4 }

// quarter returns the number of tokens that one summary may always have.
func (v *summaryLevels) quarter(l loss) int {
	return max(v.maxTokens/4, v.lineTokens(l)+minTextTokens)
}

// freeTokens returns how many tokens remain besides some summaries.
func (v *summaryLevels) freeTokens(records []record) int {
	if len(records) == 0 {
		return v.maxTokens
	}
	return v.maxTokens - v.count(joinRecords(records)) - 1
}

// stays reports whether a summary must not be condensed.
func (v *summaryLevels) stays(r record) bool { return r.pinned || v.mustStay != nil && v.mustStay(r) }

// checkRoom returns an error if there cannot be room for a summary, or if it could not be smaller
// than the content that it replaces. It is called before the summarizer.
func (v *summaryLevels) checkRoom(records []record, lost loss, removedTokens int) error {
	// The longest line about a loss: a summary that fits now must fit later, with any handle.
	longest := loss{level: 99, turns: 999_999, blocks: 9_999_999, bytes: 99_999_999_999, archive: strings.Repeat("0a", (len(lost.archive)+1)/2)}
	line := v.lineTokens(lost)
	fixed, needed := 0, line+1
	for _, r := range records {
		if v.stays(r) {
			fixed += v.count(r.String()) + 1
		} else {
			needed = 2 * (v.lineTokens(longest) + minTextTokens)
		}
	}
	needed += fixed
	switch {
	case line >= removedTokens:
		return newCompactionError(reasonLarger, "what would go has %d tokens, which is no more than the line over its summary", removedTokens)
	case needed > v.maxTokens && fixed > 0:
		return newCompactionError(reasonNoRoom, "summaries may have %d tokens, of which %d are taken by ones that stay as they are: at least %d are needed", v.maxTokens, fixed, needed)
	case needed > v.maxTokens:
		return newCompactionError(reasonNoRoom, "summaries may have %d tokens, at least %d are needed", v.maxTokens, needed)
	}
	return nil
}

// fit condenses summaries until all of them fit. It does not condense the newest one, but shortens
// it if nothing else helps.
func (v *summaryLevels) fit(records []record) ([]record, error) {
	for v.freeTokens(records) < 0 {
		first, end := v.nextToCondense(records[:len(records)-1])
		if first == end {
			break
		}
		condensed, err := v.condense(records[first:end])
		if err != nil {
			return nil, err
		}
		records = slices.Concat(records[:first], []record{condensed}, records[end:])
	}
	if v.freeTokens(records) >= 0 {
		return records, nil
	}
	older, newest := records[:len(records)-1], records[len(records)-1]
	room := v.freeTokens(older) - 1
	if !v.stays(newest) && room > v.lineTokens(newest.loss) {
		text, err := v.crop(newest.text, newest.loss, room)
		if err != nil {
			return nil, err
		}
		newest.text = text
		records = append(slices.Clip(older), newest)
	}
	if n := v.count(joinRecords(records)); n > v.maxTokens {
		return nil, newCompactionError(reasonLarger, "with those before it the summary has %d tokens, it may have %d", n, v.maxTokens)
	}
	return records, nil
}

// nextToCondense returns the range of summaries to condense next: neighbors of the lowest level
// that has several, or else the first summaries that are worth it. The range is empty if there are
// none.
func (v *summaryLevels) nextToCondense(records []record) (first, end int) {
	lowest := 0
	for i := 0; i < len(records); {
		j := i + 1
		for j < len(records) && records[j].level == records[i].level && !v.stays(records[i]) && !v.stays(records[j]) {
			j++
		}
		isLower := lowest == 0 || records[i].level < lowest
		if j-i > 1 && isLower && v.isWorthCondensing(records[i:j]) {
			first, end, lowest = i, j, records[i].level
		}
		i = j
	}
	if lowest > 0 {
		return first, end
	}
	for i := range records {
		for j := i + 1; j <= len(records) && !v.stays(records[j-1]); j++ {
			isLarge := v.count(records[i].String()) > v.quarter(records[i].loss)
			if (j-i > 1 || isLarge) && v.isWorthCondensing(records[i:j]) {
				return i, j
			}
		}
	}
	return 0, 0
}

// isWorthCondensing reports whether condensing summaries makes room.
func (v *summaryLevels) isWorthCondensing(records []record) bool {
	return v.count(joinRecords(records)) > v.lineTokens(records[0].loss)+minTextTokens
}

// condense writes one summary of several.
func (v *summaryLevels) condense(records []record) (record, error) {
	lost := loss{}
	texts := make([]string, len(records))
	for i, r := range records {
		lost, texts[i] = lost.plus(r.loss), r.text
	}
	lost.level++
	lost.archive = v.name(records)
	size := v.count(joinRecords(records))
	room := min(max(min(v.quarter(lost), size/2), v.lineTokens(lost)+minTextTokens), size-1)
	h, err := removedTexts(texts, lost.level)
	if err != nil {
		return record{}, err
	}
	h.MaxTokens, h.Counter = max(1, room-v.lineTokens(lost)), v.counter
	summary, err := v.write(h)
	if err != nil && v.lenient {
		summary.Text, err = strings.Join(texts, "\n"), nil
	}
	if err != nil {
		return record{}, err
	}
	text, err := v.crop(quoteMarks(strings.TrimSpace(summary.Text)), lost, room)
	if err != nil && v.lenient {
		text, err = unsummarized, nil
	}
	return record{lost, text}, err
}

// quoteMarks changes text in a summary that looks like a mark of Pare.
func quoteMarks(text string) string { return strings.ReplaceAll(text, Mark, "("+Mark[1:]) }

// removedTexts returns summaries as the input of a summarizer: a conversation in which each summary
// is a message.
func removedTexts(texts []string, level int) (Removed, error) {
	messages := make([]string, len(texts))
	for i, text := range texts {
		messages[i] = string(dialect.TextMessage(wire.OpenAIChat, transcript.User, text))
	}
	body := "[" + strings.Join(messages, ",") + "]"
	r, err := wire.Parse([]byte(body), wire.Options{Dialect: wire.OpenAIChat})
	if err != nil {
		return Removed{}, fmt.Errorf("condense summaries: %w", err)
	}
	h := Removed{Request: r, Level: level}
	for b := range r.Transcript().Blocks() {
		h.Blocks = append(h.Blocks, transcript.BlockID(b))
	}
	return h, nil
}

// crop shortens a text so that it has at most maxTokens tokens with the line about its loss. It
// keeps the longest possible beginning, cut after a line, a sentence or a word if possible, and
// adds a line with the length of the rest. It returns an error if not even one character fits.
func (v *summaryLevels) crop(text string, lost loss, maxTokens int) (string, error) {
	fits := func(text string) bool { return v.count(lost.withText(text)) <= maxTokens }
	if fits(text) {
		return text, nil
	}
	n := sort.Search(len(text), func(n int) bool { return !fits(cropAt(text, n+1)) })
	for n > 0 {
		end := lastBreak(text[:grapheme.Cut(text, n)])
		if end > 0 && fits(cropAt(text, end)) {
			return cropAt(text, end), nil
		}
		n-- // a longer text may have fewer tokens, so that the search was wrong
	}
	return "", newCompactionError(reasonLarger, "the summary has %d tokens, it may have %d, and no character of it fits", v.count(lost.withText(text)), maxTokens)
}

// cropAt returns the first n bytes of a text, with a line that gives the length of the rest.
func cropAt(text string, n int) string {
	n = grapheme.Cut(text, n)
	if n == 0 {
		return ""
	}
	rest := utf8.RuneCountInString(text[n:])
	return strings.TrimSpace(text[:n]) + fmt.Sprintf("\n(Left out for room: %s.)", countNoun(rest, "character"))
}

// lastBreak returns the end of the last line, sentence or word of a text, whichever keeps at least
// half of it, or else the length of the text.
func lastBreak(text string) int {
	ends := []int{
		strings.LastIndexByte(text, '\n'),
		lastSentenceEnd(text),
		strings.LastIndexByte(text, ' '),
	}
	for _, end := range ends {
		if end >= len(text)/2 && end > 0 {
			return end
		}
	}
	return len(text)
}

// lastSentenceEnd returns the offset after the last sentence of a text, or -1. In scripts with
// spaces, a full stop ends a sentence only before a space.
func lastSentenceEnd(text string) int {
	end := strings.LastIndexFunc(text, func(r rune) bool { return strings.ContainsRune("。！？｡؟۔।", r) })
	if end >= 0 {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	for _, stop := range []string{". ", "! ", "? "} {
		if at := strings.LastIndex(text, stop); at >= 0 {
			end = max(end, at+1)
		}
	}
	return end
}

// indexRecords returns the handle of the content that several summaries replace, and the archive
// item that it names, which lists their handles and texts. Without any handle, it returns "".
func indexRecords(records []record) (handle string, items []archive.Item) {
	var handles, texts []string
	for _, r := range records {
		texts = append(texts, r.String())
		if r.archive != "" {
			handles = append(handles, r.archive)
		}
	}
	if len(handles) == 0 {
		return "", nil
	}
	item := archive.IndexSummaries(handles, texts)
	return item.ID, []archive.Item{item}
}
