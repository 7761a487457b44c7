package rules

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"unicode/utf8"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/wire"
)

// DeduplicationOptions are those of [Deduplication]; the zero value is the default.
type DeduplicationOptions struct {
	// What to do with an exchange that is repeated later: "clear" its result, or "drop" it if the tool only reads or searches. Default: clear.
	Mode Mode `json:"mode,omitempty" enum:"clear,drop"`
	// Results that are shorter are left alone. Default: 512.
	MinBytes int `json:"min_bytes,omitempty"`
	// Leave reads alone that a later read of the same file covers, unless both say the same. Default: false.
	ExactOnly bool `json:"exact_only,omitempty"`
	Scope
}

func (o DeduplicationOptions) validate() error {
	if err := o.Mode.validate(Clear, Drop); err != nil {
		return err
	}
	if o.MinBytes < 0 {
		return fmt.Errorf("min_bytes: %d is less than 0", o.MinBytes)
	}
	return o.Scope.validate()
}

// Rule returns the rule, or what is wrong with the options.
func (o DeduplicationOptions) Rule() (pare.Rule, error) {
	return Deduplication(o), check(deduplication, o.validate())
}

const deduplication = "deduplication"

// Deduplication clears or drops what a later exchange says again: one of the same
// tool with the same arguments and the same result, or a successful read of the
// same file that covers the lines of an earlier one, whatever happened to the file
// in between: the later read is the one that holds. The latest always stays.
//
// The result of a tool that may have effects is cleared at most, because that it
// was called is part of the story.
func Deduplication(o DeduplicationOptions) pare.Rule {
	table := o.tools()
	return pare.Rule{
		Name:   deduplication,
		Doc:    "clear what a later call of the same tool returned again, and reads that a later read covers",
		Before: []string{"?" + toolPairing},
		Prepare: func(r *wire.Request) (pare.Process, error) {
			if err := o.validate(); err != nil {
				return nil, err
			}
			s := newSight(o.Scope, table, r)
			d := deduplicator{sight: s, found: make(map[int]int)}
			d.collect(!o.ExactOnly)
			d.repeats()
			d.covered()
			return func(b *pare.Ballot) {
				s.ballots(deduplication, o.MinBytes).vote(b, d.victims(o.Mode))
			}, nil
		},
	}
}

type deduplicator struct {
	*sight
	same  map[likeness][]int // exchanges that may be equal
	files map[fileKey][]read
	found map[int]int // a useless exchange and the later one that shows it
	exact map[int]bool
}

// A likeness is what equal exchanges have in common, cheaply computed.
type likeness struct {
	tool   int
	args   uint64
	result int
}

type fileKey struct {
	tool int
	path string
}

type read struct {
	exchange int
	lines    span
}

// seed is fixed for the process. Hashes only say which exchanges to compare.
var seed = maphash.MakeSeed()

// collect walks all exchanges once. Whether two are equal is not decided here, so
// nothing is decoded that has no rival.
func (d *deduplicator) collect(cover bool) {
	d.same, d.files, d.exact = make(map[likeness][]int), make(map[fileKey][]read), make(map[int]bool)
	for i, x := range d.exchanges {
		args := arguments(d.t, x.Call)
		k := d.tool(x.Tool)
		body := d.t.Block(x.Results[0]).Body.Len()
		key := likeness{k.number, argsHash(args), body}
		d.same[key] = append(d.same[key], i)
		if !cover || k.Kind != Read && k.Command == "" {
			continue
		}
		if u := d.use(k, args); u.kind == Read && u.file != "" && !u.odd && !u.note {
			f := fileKey{k.number, u.file}
			d.files[f] = append(d.files[f], read{i, u.lines})
		}
	}
}

// argsHash is the same for arguments that are canonically equal: the order of
// members and the spelling of strings do not matter.
func argsHash(args []byte) uint64 {
	sum, n := uint64(0), 0
	members(args, func(key string, v []byte) {
		n++
		h := maphash.String(seed, key)
		switch v[0] {
		case '{', '[':
		case '"':
			h = h*31 + textHash(v[1:])
		default:
			h = h*31 + maphash.Bytes(seed, v)
		}
		sum += h
	})
	if n == 0 {
		return maphash.Bytes(seed, bytes.TrimSpace(args))
	}
	return sum
}

// textHash looks at the beginning of a string only, up to the first character
// that is not ASCII: that much is cheap to decode and tells most strings apart.
func textHash(raw []byte) uint64 {
	const enough = 128
	var text [enough]byte
	n := 0
	for i := 0; i < len(raw) && n < enough && raw[i] != '"' && raw[i] < utf8.RuneSelf; i++ {
		c := raw[i]
		if c == '\\' {
			var size int
			if c, size = escaped(raw[i:]); size == 0 {
				break
			}
			i += size - 1
		}
		text[n] = c
		n++
	}
	return maphash.Bytes(seed, text[:n])
}

// repeats finds the exchanges that are equal to a later one.
func (d *deduplicator) repeats() {
	for _, group := range d.same {
		if len(group) < 2 {
			continue
		}
		latest := make(map[string]int)
		for _, i := range slices.Backward(group) {
			x := &d.t.Exchanges()[i]
			args := arguments(d.t, x.Call)
			if isNote(args) || isCleared(d.head(d.t.Block(x.Results[0]))) {
				continue
			}
			result := d.t.Bytes(d.t.Block(x.Results[0]).Body)
			key := fmt.Sprintf("%x %s", maphash.Bytes(seed, result), wire.Canonical(args))
			j, ok := latest[key]
			if !ok {
				latest[key] = i
				continue
			}
			if bytes.Equal(result, d.t.Bytes(d.t.Block(d.t.Exchanges()[j].Results[0]).Body)) {
				d.found[i], d.exact[i] = j, true
			}
		}
	}
}

// covered finds the reads whose lines a later successful read shows.
func (d *deduplicator) covered() {
	for _, reads := range d.files {
		if len(reads) < 2 {
			continue
		}
		starts := make([]int, len(reads))
		for n, r := range reads {
			starts[n] = r.lines.first
		}
		slices.Sort(starts)
		starts = slices.Compact(starts)
		reach := make([]read, len(starts)+1)
		for n := range reach {
			reach[n].lines.sure = -1
		}
		whole := make(map[int]int) // first line of reads to the end → latest exchange
		for _, r := range slices.Backward(reads) {
			rank, _ := slices.BinarySearch(starts, r.lines.first)
			rank++
			if _, done := d.found[r.exchange]; !done {
				if by := furthest(reach, rank); by.lines.sure >= r.lines.last {
					d.found[r.exchange] = by.exchange
				} else if by, ok := whole[r.lines.first]; ok && r.lines.sure != r.lines.last {
					d.found[r.exchange] = by
				}
			}
			if !d.shows(r.exchange) {
				continue
			}
			extend(reach, rank, r)
			if _, ok := whole[r.lines.first]; !ok && (r.lines.sure != r.lines.last) {
				whole[r.lines.first] = r.exchange
			}
		}
	}
}

// extend and furthest keep, in a Fenwick tree over the first lines, how far the
// reads that begin at a line or before it reach.
func extend(reach []read, rank int, r read) {
	for ; rank < len(reach); rank += rank & -rank {
		if r.lines.sure > reach[rank].lines.sure {
			reach[rank] = r
		}
	}
}

func furthest(reach []read, rank int) read {
	best := reach[0]
	for ; rank > 0; rank -= rank & -rank {
		if reach[rank].lines.sure > best.lines.sure {
			best = reach[rank]
		}
	}
	return best
}

// shows reports whether a read succeeded and its content is there.
func (d *deduplicator) shows(i int) bool {
	x := &d.t.Exchanges()[i]
	if d.outcome(x) != succeeded {
		return false
	}
	return d.t.Block(x.Results[0]).Body.Len() > 4000 || !pointsBack(d.said(i))
}

// victims lists what was found, in order.
func (d *deduplicator) victims(mode Mode) []victim {
	var all []victim
	for i, x := range d.exchanges {
		by, ok := d.found[i]
		if !ok {
			continue
		}
		k := d.tool(x.Tool)
		u := d.use(k, arguments(d.t, x.Call))
		if d.spared(i, u.file) {
			continue
		}
		// What came out of an error is cleared only if the very same comes again.
		if !d.exact[i] && d.outcome(x) == failure {
			continue
		}
		why := "the same was returned again by " + d.later(by)
		if !d.exact[i] {
			why = "the file was read again by " + d.later(by)
		}
		all = append(all, victim{
			exchange: i, use: u, why: why, keepArgs: true,
			drop: mode == Drop && (u.kind == Read || u.kind == Search),
		})
	}
	return all
}
