package dialect

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// CheckOptions says how much to report. The zero value reports what the request's own
// provider refuses. It is a value that many goroutines may use.
type CheckOptions struct {
	Strict bool // the union of all rules: what is valid everywhere
	Advice bool // also what is accepted but degrades quality or cost
}

// A Finding is a rule that a request breaks, at a path. Many goroutines may read it.
type Finding struct {
	Rule    string   `json:"rule"` // slug
	Path    string   `json:"path"`
	IDs     []string `json:"ids"`              // the calls it is about; empty, not null
	Message string   `json:"message"`          // the provider's own sentence
	Source  string   `json:"provider_rule"`    // id of the row in the table
	Advice  bool     `json:"advice,omitempty"` // accepted, but degrades

	fault fault
	arg   string
	Index int                `json:"-"` // the message it is about, or -1
	Block transcript.BlockID `json:"-"` // the block it is about, or NoBlock
	order int
}

// maxFindings is how many findings a check reports. A request with as many is not repaired: it is
// something else than a history.
const maxFindings = 100_000

// Check reports every finding in the order of their places, up to a hundred thousand. An
// empty result means that the provider's structural rules have nothing to object to.
func (r *Request) Check(o CheckOptions) []Finding {
	c := checker{Request: r, o: o}
	c.run()
	slices.SortStableFunc(c.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Block, b.Block), cmp.Compare(a.order, b.order))
	})
	return c.found
}

// run raises every fault.
func (c *checker) run() {
	var idle [faults]bool // those of which it is known that nobody asks
	for i := range c.notes {
		n := &c.notes[i]
		if judged[n.fault] || idle[n.fault] {
			continue
		}
		if idle[n.fault] = !c.wants(n.fault); !idle[n.fault] {
			c.reportNote(*n)
		}
	}
	c.flawFindings()
	if len(c.t.Messages()) == 0 && c.head.listKind == jsonspan.Array {
		c.headFault(emptyHistory, c.g.list, "")
	}
	c.g.check(c)
}

// judged are the faults whose notes are only half of the matter: the checker of
// the dialect looks at the rest of the request before it reports them.
var judged = [faults]bool{
	citationsMixed: true, citationsOfUser: true, documentOfAssistant: true, toolChangeUnknown: true, toolDefined: true, toolAdded: true, calledBy: true, searched: true, thinkingBeforeFallback: true, tooManyCacheMarks: true, betaHeaderMissing: true,
	serverResult4Client: true, programMixed: true, programNonText: true, toolsetMismatch: true, referenceUnknown: true, compactionNotFirst: true,
	freeForm: true, repeatedItemID: true, reasoningOrphan: true, reasoningUnresolvable: true, itemUnresolvable: true, safetyUnacknowledged: true,
	thoughtSignatureMissing: true, mixedMedia: true, reasoningField: true,
}

// pairs reports the exchanges that are not whole. How a result must stand in its
// turn is for each dialect to add.
func (c *checker) pairs() {
	all := c.t.Exchanges()
	for i := range all {
		x := &all[i]
		if x.Server || c.wrongRole(x) {
			continue
		}
		switch x.State {
		case transcript.Open, transcript.OrphanCall:
			c.unanswered(x)
		case transcript.OrphanResult:
			c.unasked(x.Results[0])
		case transcript.Displaced:
			c.block(displacedResult, x.Results[0], "")
		case transcript.Duplicate:
			extra := x.Results
			if x.Late {
				c.block(displacedResult, x.Results[0], "")
				extra = extra[1:]
			}
			if c.g.countsCalls && x.Repeats { // counts matter there, not ids
				extra = c.surplus(x)
				if len(x.Results) == 0 {
					c.unanswered(x)
				}
			}
			if x.Repeats {
				c.block(repeatedCallID, x.Call, "")
			} else if len(extra) > 0 && !x.Late {
				extra = extra[1:]
			}
			for _, r := range extra {
				c.block(duplicateResult, r, "")
			}
		}
	}
	c.reusedIDs()
}

// surplus lists the results of x beyond its first, and beyond the parts of one that goes on.
func (c *checker) surplus(x *transcript.Exchange) (all []transcript.BlockID) {
	for k := 1; k < len(x.Results); k++ {
		if !c.t.Block(x.Results[k-1]).Continues {
			all = append(all, x.Results[k])
		}
	}
	return all
}

// unanswered reports a call without a result. An approval may be given later, and a program
// may still run.
func (c *checker) unanswered(x *transcript.Exchange) {
	switch {
	case c.t.Block(x.Call).Family == approvalFamily:
	case c.t.Block(x.Call).Family == programFamily && c.running(x.Call):
	case x.State == transcript.Open:
		c.block(openCall, x.Call, "")
	default:
		c.block(orphanCall, x.Call, "")
	}
}

// unasked reports a result without a call.
func (c *checker) unasked(b transcript.BlockID) {
	if c.t.Block(b).Family == approvalFamily {
		c.block(approvalUnasked, b, "")
		return
	}
	c.block(orphanResult, b, "")
}

// wrongRole reports a half that stands in the wrong mouth, whether or not the other half is
// there; it is not also called an orphan.
func (c *checker) wrongRole(x *transcript.Exchange) (wrong bool) {
	role := func(b transcript.BlockID) transcript.Role { return c.t.Messages()[c.t.Blocks()[b].Message].Role }
	if x.Call != transcript.NoBlock && (role(x.Call) == transcript.User || role(x.Call) == transcript.System) {
		c.block(callWrongRole, x.Call, "")
		wrong = c.wants(callWrongRole)
	}
	if len(x.Results) > 0 && role(x.Results[0]) == transcript.Assistant {
		c.block(resultWrongRole, x.Results[0], "")
		wrong = wrong || c.wants(resultWrongRole)
	}
	return wrong
}

// reusedIDs reports calls whose id an earlier turn has used: for a call of the same family,
// or for one of another.
func (c *checker) reusedIDs() {
	if !c.wants(reusedCallID) && !c.wants(reusedOtherKind) {
		return
	}
	if distinctIDs(c.t.Exchanges()) {
		return
	}
	seen := make(map[string]uint32, len(c.t.Exchanges())) // a bit for each family
	for _, x := range c.t.Exchanges() {
		if x.Call == transcript.NoBlock || x.CallID == "" || x.Server {
			continue
		}
		used, own := seen[x.CallID], uint32(1)<<c.t.Block(x.Call).Family
		switch {
		case x.Repeats:
		case used&own != 0:
			c.block(reusedCallID, x.Call, "")
		case used != 0:
			c.block(reusedOtherKind, x.Call, "")
		}
		seen[x.CallID] = used | own
	}
}

// distinctIDs reports whether every id is that of one exchange, as nearly always. It may say no
// where it would take long to tell.
func distinctIDs(all []transcript.Exchange) bool {
	width := bits.Len(uint(2 * len(all)))
	slots := make([]int32, 1<<width) // by how an id ends: its exchange, from 1 on
	patience := 2 * len(all)
	for i := range all {
		id := all[i].CallID
		if id == "" {
			continue
		}
		at := ending(id) * 0x9E3779B97F4A7C15 >> (64 - width)
		for ; slots[at] != 0; at = (at + 1) & (1<<width - 1) {
			if patience--; patience < 0 || all[slots[at]-1].CallID == id {
				return false
			}
		}
		slots[at] = int32(i + 1)
	}
	return true
}

// ending is a number for how a text ends.
func ending(s string) (n uint64) {
	if len(s) > 8 {
		s = s[len(s)-8:]
	}
	for i := range len(s) {
		n = n<<8 | uint64(s[i])
	}
	return n
}

type checker struct {
	*Request
	o      CheckOptions
	found  []Finding
	seen   map[[2]string]bool          // one fault, one finding
	called map[transcript.BlockID]bool // programs that have called something; see running
	spoken int                         // the last message in which somebody speaks
}

// wants reports whether any row would report f, so that costly checks can be
// left out.
func (c *checker) wants(f fault) bool { return c.row(f) != nil }

// row returns the row that reports f: one that is meant for the profile, or else,
// in a strict check, any.
func (c *checker) row(f fault) *Rule {
	if c.head.delta != "" && !knownInDelta[f] {
		return nil
	}
	var other *Rule
	for _, r := range byFault[c.Dialect][f] {
		switch {
		case !r.active(&c.Profile, c.o), r.when != nil && !r.when(c.Request):
		case r.only == nil || r.only(&c.Profile):
			return r
		case other == nil:
			other = r
		}
	}
	return other
}

// report adds a finding at path, if a row of the table minds.
func (c *checker) report(f fault, message int, block transcript.BlockID, path, arg string, ids ...string) {
	row := c.row(f)
	if row == nil {
		return
	}
	once := [2]string{row.Slug, path}
	if len(c.found) >= maxFindings || c.seen[once] {
		return
	}
	if c.seen == nil {
		c.seen = make(map[[2]string]bool)
	}
	c.seen[once] = true
	if ids == nil {
		ids = []string{}
	}
	says := row.Says
	if says == "" { // not published: say what is wrong
		says = "{path}: " + row.Doc
	}
	c.found = append(c.found, Finding{
		Rule: row.Slug, Path: path, IDs: ids, Message: fill(says, path, message, ids, arg), Source: row.ID,
		Advice: row.Severity == severityDegrades, fault: f, arg: arg, Index: message, Block: block, order: len(c.found),
	})
}

// block reports a fault of a block.
func (c *checker) block(f fault, b transcript.BlockID, arg string) {
	if !c.wants(f) {
		return
	}
	blk := c.t.Block(b)
	var ids []string
	if blk.CallID != "" {
		ids = []string{blk.CallID}
	}
	if arg == "" {
		arg = blk.Tool
	}
	c.report(f, blk.Message, b, c.Path(b), arg, ids...)
}

// message reports a fault of a message.
func (c *checker) message(f fault, i int, arg string) {
	if c.wants(f) {
		c.report(f, i, transcript.NoBlock, c.MessagePath(i), arg)
	}
}

// headFault reports a fault beside the messages.
func (c *checker) headFault(f fault, path, arg string) {
	c.report(f, -1, transcript.NoBlock, path, arg)
}

func (c *checker) reportNote(n note) {
	if !c.wants(n.fault) {
		return
	}
	switch {
	case n.message < 0:
		c.headFault(n.fault, n.sub, n.arg)
	case n.block < 0:
		c.report(n.fault, int(n.message), transcript.NoBlock, join(c.MessagePath(int(n.message)), n.sub), n.arg)
	default:
		blk := c.t.Block(transcript.BlockID(n.block))
		var ids []string
		if blk.CallID != "" {
			ids = []string{blk.CallID}
		}
		c.report(n.fault, int(n.message), transcript.BlockID(n.block), join(c.Path(transcript.BlockID(n.block)), n.sub), n.arg, ids...)
	}
}

func join(path, sub string) string {
	if sub == "" {
		return path
	}
	return path + "." + sub
}

// fill puts the particulars of a finding into the provider's sentence.
func fill(says, path string, i int, ids []string, arg string) string {
	if !strings.Contains(says, "{") {
		return says
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(says, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, ok := strings.Cut(rest, "}")
		switch {
		case ok && name == "path":
			b.WriteString(path)
		case ok && name == "i":
			b.WriteString(strconv.Itoa(i))
		case ok && name == "ids":
			b.WriteString(strings.Join(ids, ", "))
		case ok && name == "arg":
			b.WriteString(arg)
		default: // a brace of the sentence's own
			b.WriteByte('{')
			after = rest
		}
		says = after
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// argumentsJSON looks into the arguments of calls where the vendor does.
func (c *checker) argumentsJSON() {
	if !c.wants(argsNotJSON) {
		return
	}
	var free map[int32]bool // calls whose input is any text
	for _, n := range c.notes {
		if n.fault == freeForm {
			if free == nil {
				free = make(map[int32]bool)
			}
			free[n.block] = true
		}
	}
	var s jsonspan.Scanner
	var text []byte
	ms := c.t.Messages()
	for i := range ms {
		for b := ms[i].First; b < ms[i].End; b++ {
			blk := &c.t.Blocks()[b]
			if blk.Kind != transcript.Call || free[int32(b)] || blk.Body == blk.Span || c.raw[blk.Body.Start-1] != '"' {
				continue
			}
			text = jsonspan.Decode(text[:0], c.t.Bytes(blk.Body))
			s.Reset(text, jsonspan.Structural)
			s.Skip()
			s.End()
			if s.Failed() {
				c.block(argsNotJSON, b, "")
			}
		}
	}
}
