package planner

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/grapheme"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Summaries form levels, so that a conversation can be compacted any number of times. One of
// level 1 stands for a part of the conversation. When all of them together would pass their
// bound, the oldest ones of the lowest level that has several are condensed into one of the
// next level, by the same summarizer. Each says what it stands for, and has a handle that leads to all of
// it where that is archived. So there are a few at any time: those of the newest parts tell
// much of little, those of the oldest little of much.

// leastText is how many tokens of text a summary needs to say something.
const leastText = 48

// levels adds summaries to those before them.
type levels struct {
	most  int // tokens that all may have together, with the lines over them
	count func(text string) int
	// write asks for a summary.
	write func(Removed) (Summary, error)
	// name is the handle of what several summaries stand for; "": nothing is archived.
	name func([]record) string
	// whole are summaries that are not to be condensed, besides those that the caller wrote.
	whole func(record) bool
	// counter is that of the request, for summarizers.
	counter wire.Counter
	// lenient shortens summaries that nobody could condense, where no error can be told.
	lenient bool
}

// add puts the summary of what was removed behind those before it, and makes room for it. A
// summary takes at most half of the room that is left, and at least a quarter of all.
func (v *levels) add(h Removed, lost loss) (text string, made Summary, err error) {
	all := recordsOf(h.Prior)
	removed := v.weigh(&h)
	if err := v.fits(all, lost, removed); err != nil {
		return "", made, err
	}
	room := min(max(v.quarter(lost), v.free(all)/2), v.most, removed)
	h.MaxTokens, h.Counter = max(1, room-v.line(lost)), v.counter
	if made, err = v.write(h); err != nil {
		return "", made, err
	}
	next := record{lost, strings.TrimSpace(made.Text)}
	if next.pinned = made.Pinned; !made.Pinned {
		if next.text, err = v.crop(defused(next.text), lost, max(room, min(v.free(all), removed))); err != nil {
			return "", made, err
		}
	}
	all, err = v.fit(append(all, next))
	return join(all), made, err
}

// note puts what stands for what nobody could summarize behind those before it. It is "" if there is
// no room for anything.
func (v *levels) note(prior string, lost loss) string {
	all := recordsOf(prior)
	if n := len(all) - 1; n >= 0 && all[n].text == unsummarized {
		both := all[n].and(lost)
		both.archive = v.name([]record{all[n], {lost, unsummarized}})
		lost, all = both, all[:n]
	}
	kept, err := v.fit(append(slices.Clip(all), record{lost, unsummarized}))
	if err == nil {
		return join(kept)
	}
	if n := len(all) - 1; n >= 0 && !v.stays(all[n]) { // then the one before it stands for both
		both := all[n].and(lost)
		both.level++
		both.archive = v.name([]record{all[n], {lost, unsummarized}})
		if kept, err = v.fit(append(all[:n:n], record{both, all[n].text})); err == nil {
			return join(kept)
		}
	}
	return ""
}

// unsummarized is the text where there is no summary.
const unsummarized = "What stood here was not summarized."

// weigh returns how many tokens a summary of the removed blocks may have at most, so that the history
// gets smaller: their own, less those of the marks around a summary.
func (v *levels) weigh(h *Removed) int {
	if v.lenient {
		return v.most // there is room for it in any case
	}
	n, last := 0, -1
	for _, b := range h.Blocks {
		n += wirex.BlockTokens(h.Request, v.counter, b)
		if m := h.Request.Transcript().Block(b).Message; m != last {
			n, last = n+wirex.FrameTokens(v.counter), m
		}
	}
	return n - v.count(wording.SummaryBegin) - v.count(wording.SummaryEnd) - wirex.FrameTokens(v.counter) - 2
}

// line is what the line over a summary costs.
func (v *levels) line(l loss) int { return v.count(l.over("")) + 4 } // the size of the text and the empty line

// quarter is the share of one summary.
func (v *levels) quarter(l loss) int { return max(v.most/4, v.line(l)+leastText) }

// free is how many tokens are left.
func (v *levels) free(all []record) int {
	if len(all) == 0 {
		return v.most
	}
	return v.most - v.count(join(all)) - 1
}

// stays reports whether a summary is not to be condensed.
func (v *levels) stays(r record) bool { return r.pinned || v.whole != nil && v.whole(r) }

// fits is an error if there can be no room for a summary, or none that is smaller than what it
// stands for. Nobody has been asked for one then.
func (v *levels) fits(all []record, lost loss, removed int) error {
	fixed, least := 0, v.line(lost)+1
	// The longest line: what fits now does so later, and with every handle.
	longest := loss{level: 99, turns: 999_999, blocks: 9_999_999, bytes: 99_999_999_999, archive: strings.Repeat("0a", (len(lost.archive)+1)/2)}
	for _, r := range all {
		if v.stays(r) {
			fixed += v.count(r.String()) + 1
		} else {
			least = 2 * (v.line(longest) + leastText)
		}
	}
	line := v.line(lost)
	least += fixed
	switch {
	case line >= removed:
		return uncompacted(reasonLarger, "what would go has %d tokens, which is no more than the line over its summary", removed)
	case least > v.most && fixed > 0:
		return uncompacted(reasonNoRoom, "summaries may have %d tokens, of which %d are taken by ones that stay as they are: at least %d are needed", v.most, fixed, least)
	case least > v.most:
		return uncompacted(reasonNoRoom, "summaries may have %d tokens, at least %d are needed", v.most, least)
	}
	return nil
}

// fit condenses until all summaries fit. The newest one is not condensed; it is shortened
// if nothing else helps.
func (v *levels) fit(all []record) ([]record, error) {
	for v.free(all) < 0 {
		last := len(all) - 1
		from, to := v.oldest(all[:last])
		if from == to {
			break
		}
		one, err := v.condense(all[from:to])
		if err != nil {
			return nil, err
		}
		all = slices.Concat(all[:from], []record{one}, all[to:])
	}
	if v.free(all) >= 0 {
		return all, nil
	}
	last := &all[len(all)-1]
	if room := v.free(all[:len(all)-1]) - 1; !v.stays(*last) && room > v.line(last.loss) {
		text, err := v.crop(last.text, last.loss, room)
		if err != nil {
			return nil, err
		}
		last.text = text
	}
	if n := v.count(join(all)); n > v.most {
		return nil, uncompacted(reasonLarger, "with those before it the summary has %d tokens, it may have %d", n, v.most)
	}
	return all, nil
}

// oldest is the range of summaries to condense: neighbours of the lowest level that has several,
// or else the two oldest ones, or the only one if that is large.
func (v *levels) oldest(all []record) (from, to int) {
	best := 0
	for i := 0; i < len(all); {
		j := i + 1
		for ; j < len(all) && all[j].level == all[i].level && !v.stays(all[i]) && !v.stays(all[j]); j++ {
		}
		if j-i > 1 && (best == 0 || all[i].level < best) && v.worth(all[i:j]) {
			from, to, best = i, j, all[i].level
		}
		i = j
	}
	if best > 0 {
		return from, to
	}
	for i := range all {
		for j := i + 1; j <= len(all) && !v.stays(all[j-1]); j++ {
			if (j-i > 1 || v.count(all[i].String()) > v.quarter(all[i].loss)) && v.worth(all[i:j]) {
				return i, j
			}
		}
	}
	return 0, 0
}

// worth reports whether to condense summaries makes room.
func (v *levels) worth(run []record) bool { return v.count(join(run)) > v.line(run[0].loss)+leastText }

// condense makes one summary of several.
func (v *levels) condense(run []record) (record, error) {
	lost := loss{}
	texts := make([]string, len(run))
	for i, r := range run {
		lost, texts[i] = lost.and(r.loss), r.text
	}
	lost.level++
	lost.archive = v.name(run)
	size := v.count(join(run))
	room := min(max(min(v.quarter(lost), size/2), v.line(lost)+leastText), size-1)
	h, err := below(texts, lost.level)
	if err != nil {
		return record{}, err
	}
	h.MaxTokens, h.Counter = max(1, room-v.line(lost)), v.counter
	made, err := v.write(h)
	if err != nil && v.lenient {
		made.Text, err = strings.Join(texts, "\n"), nil
	}
	if err != nil {
		return record{}, err
	}
	text, err := v.crop(defused(strings.TrimSpace(made.Text)), lost, room)
	if err != nil && v.lenient {
		text, err = unsummarized, nil
	}
	return record{lost, text}, err
}

// defused makes what looks like a mark of ours, in a summary that somebody else wrote, look like none.
func defused(text string) string { return strings.ReplaceAll(text, Mark, "("+Mark[1:]) }

// below is summaries as what a summarizer is given: a conversation in which each is a message.
func below(texts []string, level int) (Removed, error) {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = string(wirex.TextMessage(wire.OpenAIChat, transcript.User, text))
	}
	r, err := wire.Parse([]byte("["+strings.Join(list, ",")+"]"), wire.Options{Dialect: wire.OpenAIChat})
	if err != nil {
		return Removed{}, fmt.Errorf("condense summaries: %w", err)
	}
	h := Removed{Request: r, Level: level}
	for b := range r.Transcript().Blocks() {
		h.Blocks = append(h.Blocks, transcript.BlockID(b))
	}
	return h, nil
}

// crop shortens a text so that, with the line over it, it has at most maxTokens tokens. It keeps the
// longest beginning that fits, cut at the end of a line, a sentence or a word if one is near and
// between two characters otherwise, and adds a line with the length of the rest. The error is that of
// a text of which not one character fits.
func (v *levels) crop(text string, lost loss, maxTokens int) (string, error) {
	fits := func(text string) bool { return v.count(lost.over(text)) <= maxTokens }
	if fits(text) {
		return text, nil
	}
	n := sort.Search(len(text), func(n int) bool { return !fits(shortened(text, n+1)) })
	for n > 0 {
		if end := goodEnd(text[:grapheme.Cut(text, n)]); end > 0 && fits(shortened(text, end)) {
			return shortened(text, end), nil
		}
		n-- // a counter need not grow with its text
	}
	return "", uncompacted(reasonLarger, "the summary has %d tokens, it may have %d, and no character of it fits", v.count(lost.over(text)), maxTokens)
}

// shortened returns the first n bytes of a text, with a line that gives the length of the rest.
func shortened(text string, n int) string {
	n = grapheme.Cut(text, n)
	if n == 0 {
		return ""
	}
	rest := utf8.RuneCountInString(text[n:])
	return strings.TrimSpace(text[:n]) + fmt.Sprintf("\n(Left out for room: %s.)", several(rest, "character"))
}

// goodEnd returns where to cut a text that goes on: after the last line, else the last sentence, else
// the last word, if that keeps at least half of the text, and otherwise at its end.
func goodEnd(text string) int {
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

// lastSentenceEnd returns the offset after the last sentence of a text, or -1. A full stop of a
// script with spaces ends a sentence only before a space.
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

// indexed names what several summaries stand for, and keeps their texts, as an item of the
// archive. Nothing is named where nothing was archived.
func indexed(run []record, keep func(archive.Item)) string {
	var handles, texts []string
	for _, r := range run {
		if texts = append(texts, r.String()); r.archive != "" {
			handles = append(handles, r.archive)
		}
	}
	if len(handles) == 0 {
		return ""
	}
	item := archive.IndexSummaries(handles, texts)
	keep(item)
	return item.ID
}
