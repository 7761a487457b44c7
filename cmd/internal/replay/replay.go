package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Options says how to replay a history. The zero value compares the standard
// policies in the window of the history's own model. Many goroutines may use one that nobody
// changes.
type Options struct {
	// Policies to compare; nil: Standard. What is said to be more or less is so against
	// the first one.
	Policies []Policy
	// Limit is what a request may have; a share is one of the whole history. Zero: what
	// the model takes, with room for a reply.
	Limit Amount
	// Low is what a stable window is trimmed to; a share is one of the limit. Zero: 50 %.
	Low Amount
	// Model is whose window, cache and prices are meant. "": that of the history.
	Model string
	// Counter counts tokens. Nil: the estimator of the model.
	Counter wire.Counter
	// Recording is what is known of the requests beside their text: with it the head counts that
	// is not in the history, and pauses after which the cache had expired. Nil: nothing is.
	Recording *Recording
	// Life is how long the cache lives, whatever was used: five minutes or an hour. Zero: what the
	// recording says, or what the model's provider does.
	Life time.Duration
	// Every replays one request of so many, and always the last, as if the others had not been
	// sent: the time grows with the square of a history. Zero: all.
	Every int

	// Tables beside the built-in ones of package tokens.
	Models []tokens.Model
	Caches []tokens.Cache
	Prices []tokens.Price
	// Progress hears how many requests of how many are done. Default: nobody does.
	Progress func(done, of int)
}

// A Result is what came of a history: a plain value. Many goroutines may read it.
type Result struct {
	Source    string  `json:"source,omitempty"` // for the caller to set
	Model     string  `json:"model"`
	Histories int     `json:"histories"`
	Requests  int     `json:"requests"`
	Every     int     `json:"every,omitempty"`  // one request of so many was replayed; zero: all
	Tokens    int     `json:"tokens"`           // of the whole history
	Limit     int     `json:"limit"`            // zero in a sum
	Low       int     `json:"low"`              //
	Window    int     `json:"window"`           // that the model is known to have; zero: unknown
	Priced    int     `json:"priced"`           // histories whose model has a list price
	Beside    int     `json:"beside"`           // tokens of each request that the history does not show
	Cold      int     `json:"cold"`             // requests before which the cache had expired
	Calls     int     `json:"calls"`            // that the model made
	Edits     int     `json:"edits"`            // of these, those that replace lines which it was shown
	Repeats   int     `json:"repeats"`          // of these, those made before with the same answer
	Runs      []Run   `json:"runs"`             // one for each policy
	Cache     Billing `json:"cache"`            // zero in a sum
	Bills     Bills   `json:"bills"`            // as recorded
	Breaks    []Break `json:"breaks,omitempty"` // when the cache was lost
}

// A Billing is what cached tokens cost, in thousandths of the price of input. Many
// goroutines may read it.
type Billing struct {
	Read      int `json:"read"`
	Write     int `json:"write"`
	MinPrefix int `json:"min_prefix"`
}

// A Run is a history under one policy. Many goroutines may read it.
type Run struct {
	Policy string `json:"policy"`
	Totals
	Steps   []Step   `json:"steps,omitempty"`
	Regrets []Regret `json:"regrets,omitempty"` // calls that miss something, in order
}

// A Step is one request. What is sent is what is read from the cache, written to it,
// and plain input. Many goroutines may read it.
type Step struct {
	Sent    int      `json:"sent"`
	Read    int      `json:"read"`
	Written int      `json:"written"`
	Input   int      `json:"input"`
	Output  int      `json:"output"` // what the model said next
	Bytes   int      `json:"bytes"`
	Cached  int      `json:"cached"`            // bytes
	Changed bool     `json:"changed,omitempty"` // not sent as it came
	Unfit   bool     `json:"unfit,omitempty"`   // could not be made to fit, so sent as it is
	Refused []string `json:"refused,omitempty"` // the rules that it breaks
	Rewrote bool     `json:"rewrote,omitempty"` // what was sent before is not its beginning
	Blind   int      `json:"blind,omitempty"`   // edits in the reply of which a line is nowhere in sight that was
	Unseen  int      `json:"unseen,omitempty"`  // calls in the reply with a name that is nowhere in sight and was
	Missed  int      `json:"missed,omitempty"`  // calls that are one of these, or both

	regrets       []Regret
	again         usage // reading again what is missed
	asked         usage // for a summary
	money, weighs float64
	net, netted   float64 // money and weight with reading again
}

// OverWindow is the reason for a request that is longer than the model's window.
const OverWindow = "over-window"

// Totals are the sums of all steps. Many goroutines may read it.
type Totals struct {
	Sent      int `json:"sent"`
	Read      int `json:"read"`
	Written   int `json:"written"`
	Input     int `json:"input"`
	Output    int `json:"output"`
	Bytes     int `json:"bytes"`
	Cached    int `json:"cached"`
	Changed   int `json:"changed"`
	Unfit     int `json:"unfit"`
	Refused   int `json:"refused"`
	Rewrites  int `json:"rewrites"`
	Blind     int `json:"blind"`     // of Edits
	Unseen    int `json:"unseen"`    // of Calls
	Missed    int `json:"missed"`    // of Calls: both together
	Dearer    int `json:"dearer"`    // histories that cost more than with the first policy, by a hundredth at least
	Untouched int `json:"untouched"` // histories of which no request was changed
	// Weight is Sent with cached tokens weighed by what they cost, in tokens of plain
	// input.
	Weight float64 `json:"weight"`
	// Money is in US dollars, Uncached what it would be without a cache; of histories
	// whose model has a price. What is refused is never saved: a request that this policy or the
	// first one could not have sent costs as much as with the first one, at least. Net is money
	// with what it costs to read again what is missed, Netted weight.
	Money    float64  `json:"money"`
	Net      float64  `json:"net"`
	Netted   float64  `json:"netted"`
	Uncached float64  `json:"uncached"`
	Reasons  []Reason `json:"reasons,omitempty"` // why requests are refused, the commonest first
}

// A Reason is a rule and how many requests broke it. Many goroutines may read it.
type Reason struct {
	Rule     string `json:"rule"`
	Requests int    `json:"requests"`
}

// Replay walks a history, which should have been repaired, and sends each request of it
// as each policy says. Each request is read once for all policies, which then work
// side by side; sending everything reads none.
func Replay(r *wire.Request, o Options) (*Result, error) {
	p := newPlayer(r, o)
	for i := range p.runs {
		policy := p.policies[i]
		setting := p.setting
		setting.asks = func(text string) { p.runs[i].asked = setting.Counter.Count([]byte(text)) }
		send, err := policy.Prepare(setting)
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", policy.Name, err)
		}
		p.runs[i].send = send
	}
	for k := range p.walk.Len() {
		if err := p.step(k); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(k+1, p.walk.Len())
		}
	}
	return p.result(), nil
}

// A player replays one history.
type player struct {
	walk      *Walk
	every     int
	policies  []Policy
	setting   Setting
	room      int // the model's window; zero: unknown
	price     tokens.Price
	priced    bool
	memory    *memory
	beside    int         // tokens that are not in the history
	broken    map[int]int // by request: how much of it can still be read from the cache
	breaks    []Break
	scale     scale
	recording *Recording
	head      int // tokens beside the list
	tokens    int // of the whole history
	limit     int
	costs     []int // by message
	blocks    []int // by block
	sums      []int // by number of messages: what the first ones cost
	runs      []ledger
}

func newPlayer(r *wire.Request, o Options) *player {
	p := &player{walk: newWalk(r, o.Recording, max(o.Every, 1)), every: o.Every, policies: o.Policies}
	if p.policies == nil {
		p.policies = Standard()
	}
	name := cmp.Or(o.Model, r.Model())
	model, known := tokens.Lookup(name, o.Models...)
	if known {
		p.room = model.Window
	}
	p.price, p.priced = tokens.PriceOf(name, o.Prices...)
	p.setting = Setting{Model: name, Counter: o.Counter, Cache: tokens.CacheOf(name, o.Caches...)}
	if o.Counter == nil {
		p.setting.Counter = model.Estimator()
	}
	p.head = dialect.HeadTokens(r, p.setting.Counter)
	p.setting.head = p.head
	p.sums = []int{0}
	for b := range r.Transcript().Blocks() {
		p.blocks = append(p.blocks, dialect.BlockTokens(r, p.setting.Counter, transcript.BlockID(b)))
	}
	for i, m := range r.Transcript().Messages() {
		cost := dialect.FrameTokens(p.setting.Counter)
		for _, n := range p.blocks[m.First:m.End] {
			cost += n
		}
		p.costs, p.sums = append(p.costs, cost), append(p.sums, p.sums[i]+cost)
	}
	p.setting.costs = p.costs
	p.memory = remember(r, p.replies)
	p.setting.future = p.memory
	p.record(o)
	whole := view{r: r, n: len(p.costs), sums: p.sums}
	p.tokens = p.scale.text(p.head+whole.from(whole.start(), whole.n)) + p.beside
	p.setting.Tokens = model.Input(0)
	if o.Limit != (Amount{}) {
		p.setting.Tokens = max(o.Limit.Of(p.tokens), 2)
	}
	p.limit = p.setting.Tokens
	p.setting.Tokens = max(p.limit-p.beside, 2) // of what policies see
	low := cmp.Or(o.Low, Amount{Percent: 50})
	p.setting.Low = max(min(low.Of(p.setting.Tokens), p.setting.Tokens-1), 1)
	p.runs = make([]ledger, len(p.policies))
	for i := range p.runs {
		p.runs[i].steps = make([]Step, 0, p.walk.Len())
	}
	return p
}

// record takes in what is known beside the text.
func (p *player) record(o Options) {
	sent := func(k int) int { return p.head + p.sums[p.walk.ends[k]] }
	p.recording = o.Recording
	p.beside = o.Recording.beside(p.walk, sent)
	p.setting.Beside = p.beside
	p.scale = newScale(o.Recording, p.walk, p.textOf)
	life := cmp.Or(o.Life, o.Recording.life())
	p.setting.Cache = ofLife(p.setting.Cache, life)
	p.broken = make(map[int]int)
	if o.Recording == nil || p.every > 1 {
		return
	}
	p.setting.Cold = o.Recording.cold(p.walk, p.setting.Cache.Life)
	p.breaks = o.Recording.breaks(p.walk, p.setting.Cache.Life)
	c := p.setting.Cache
	for i := range p.breaks {
		b := &p.breaks[i]
		p.broken[b.Request-1] = b.Read
		b.Money = p.price.Cost(c, tokens.Usage{Written: b.Again}) - p.price.Cost(c, tokens.Usage{Read: b.Again})
	}
}

// readable is how many of the tokens that a request has in common with the one before were really
// read from the cache: all, unless it was broken or the bill says that less was.
func (p *player) readable(k, found int) int {
	if most, ok := p.broken[k]; ok {
		return min(found, most)
	}
	now := p.recording.bill(p.walk, k)
	if k == 0 || now.sent() == 0 {
		return found
	}
	before := p.recording.bill(p.walk, k-1).sent()
	if could := min(before, now.sent()); now.Read < could && 2*now.Read >= before {
		return int(int64(found) * int64(now.Read) / int64(could))
	}
	return found
}

// textOf estimates what request k shows.
func (p *player) textOf(k int) int {
	v := view{r: p.walk.whole, n: p.walk.ends[k], sums: p.sums}
	return p.head + v.from(v.start(), v.n)
}

// step sends one request in all ways.
func (p *player) step(k int) error {
	as := &view{r: p.walk.whole, n: p.walk.Messages(k), sums: p.sums}
	var q *wire.Request
	if slices.ContainsFunc(p.runs, func(l ledger) bool { return l.send != nil }) {
		var err error
		if q, err = p.walk.Request(k); err != nil {
			return err
		}
	}
	failed := make([]error, len(p.runs))
	var busy sync.WaitGroup
	for i := range p.runs {
		l := &p.runs[i]
		if l.send == nil {
			l.add(p, k, as, false)
			continue
		}
		busy.Go(func() { failed[i] = l.play(p, k, as, q) })
	}
	busy.Wait()
	for i, err := range failed { // the first one of all is told
		if err != nil {
			return fmt.Errorf("policy %s, request %d of %d: %w", p.policies[i].Name, k+1, p.walk.Len(), err)
		}
	}
	return nil
}

func (p *player) result() *Result {
	c := p.setting.Cache
	r := &Result{
		Model: p.setting.Model, Histories: 1, Requests: p.walk.Len(), Tokens: p.tokens, Limit: p.limit, Low: p.setting.Low,
		Window: p.room, Cache: Billing{c.Read, c.Write, c.MinPrefix},
	}
	if p.every > 1 {
		r.Every = p.every
	}
	if p.priced {
		r.Priced = 1
	}
	r.Beside, r.Cold, r.Calls, r.Edits = p.beside, len(p.setting.Cold), p.memory.calls, p.memory.edits
	r.Bills, r.Breaks, r.Repeats = p.bills(), p.breaks, repeats(p.walk.whole)
	for i := range p.runs {
		p.charge(p.runs[i].steps, p.runs[0].steps)
	}
	for i, l := range p.runs {
		r.Runs = append(r.Runs, Run{Policy: p.policies[i].Name, Totals: p.total(l.steps), Steps: l.steps})
		for _, s := range l.steps {
			r.Runs[i].Regrets = append(r.Runs[i].Regrets, s.regrets...)
		}
		run, first := &r.Runs[i], &r.Runs[0]
		run.Dearer = one(run.Net > first.Net*1.01 || !p.priced && run.Netted > first.Netted*1.01)
	}
	return r
}

// charge says what the steps of a policy cost. What would have been refused saves nothing.
func (p *player) charge(steps, first []Step) {
	c := p.setting.Cache
	for k := range steps {
		s := &steps[k]
		u := tokens.Usage(usage(s.usage()).plus(s.asked))
		s.money, s.weighs = p.price.Cost(c, u), weightOf(c, u)
		if f := &first[k]; len(s.Refused)+len(f.Refused) > 0 {
			s.money, s.weighs = max(s.money, f.money), max(s.weighs, f.weighs)
		}
		s.net = s.money + p.price.Cost(c, tokens.Usage(s.again))
		s.netted = s.weighs + weightOf(c, tokens.Usage(s.again))
	}
}

// weightOf is a usage in tokens of plain input; output is left aside.
func weightOf(c tokens.Cache, u tokens.Usage) float64 {
	return float64(1000*u.Input+c.Read*u.Read+c.Write*u.Written) / 1000
}

// replies reports whether message i is part of a reply to a request that was replayed.
func (p *player) replies(i int) bool {
	if p.every <= 1 {
		return true
	}
	k, _ := slices.BinarySearch(p.walk.ends, i+1) // behind the last request in front of it
	if k == 0 {
		return false
	}
	_, end := p.walk.reply(k - 1)
	return i < end
}

func (p *player) total(steps []Step) (t Totals) {
	why := make(map[string]int)
	for _, s := range steps {
		t.add(&Totals{
			Sent: s.Sent, Read: s.Read, Written: s.Written, Input: s.Input, Output: s.Output, Bytes: s.Bytes, Cached: s.Cached,
			Changed: one(s.Changed), Unfit: one(s.Unfit), Refused: one(len(s.Refused) > 0), Rewrites: one(s.Rewrote), Blind: s.Blind, Unseen: s.Unseen, Missed: s.Missed,
			Weight: s.weighs, Netted: s.netted,
		})
		for _, rule := range s.Refused {
			why[rule]++
		}
	}
	t.Reasons = reasons(why)
	t.Untouched = one(t.Changed == 0)
	for _, s := range steps {
		if p.priced {
			t.Money, t.Net = t.Money+s.money, t.Net+s.net
		}
	}
	if p.priced {
		t.Uncached = p.price.Cost(p.setting.Cache, tokens.Usage{Input: t.Sent, Output: t.Output})
	}
	return t
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func reasons(why map[string]int) []Reason {
	var all []Reason
	for rule, n := range why {
		all = append(all, Reason{rule, n})
	}
	slices.SortFunc(all, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Rule, b.Rule))
	})
	return all
}

// add adds other totals.
func (t *Totals) add(o *Totals) {
	t.Sent, t.Read, t.Written, t.Input, t.Output = t.Sent+o.Sent, t.Read+o.Read, t.Written+o.Written, t.Input+o.Input, t.Output+o.Output
	t.Bytes, t.Cached = t.Bytes+o.Bytes, t.Cached+o.Cached
	t.Changed, t.Unfit, t.Refused, t.Untouched = t.Changed+o.Changed, t.Unfit+o.Unfit, t.Refused+o.Refused, t.Untouched+o.Untouched
	t.Rewrites, t.Blind, t.Unseen, t.Missed, t.Dearer = t.Rewrites+o.Rewrites, t.Blind+o.Blind, t.Unseen+o.Unseen, t.Missed+o.Missed, t.Dearer+o.Dearer
	t.Weight, t.Money, t.Uncached = t.Weight+o.Weight, t.Money+o.Money, t.Uncached+o.Uncached
	t.Net, t.Netted = t.Net+o.Net, t.Netted+o.Netted
	if len(o.Reasons) == 0 {
		return
	}
	why := make(map[string]int)
	for _, r := range slices.Concat(t.Reasons, o.Reasons) {
		why[r.Rule] += r.Requests
	}
	t.Reasons = reasons(why)
}

// Sum adds results up, policy by policy, without their steps. All must have been made
// with the same policies.
func Sum(source string, all []*Result) *Result {
	sum := &Result{Source: source}
	models := make(map[string]bool)
	for _, r := range all {
		models[r.Model] = true
		sum.Histories += r.Histories
		sum.Requests += r.Requests
		sum.Every = max(sum.Every, r.Every)
		sum.Tokens += r.Tokens
		sum.Priced += r.Priced
		sum.Beside += r.Beside
		sum.Cold += r.Cold
		sum.Calls += r.Calls
		sum.Edits += r.Edits
		sum.Repeats += r.Repeats
		sum.Bills.Add(&r.Bills)
		sum.Breaks = append(sum.Breaks, r.Breaks...)
		for i, run := range r.Runs {
			if i == len(sum.Runs) {
				sum.Runs = append(sum.Runs, Run{Policy: run.Policy})
			}
			sum.Runs[i].Totals.add(&run.Totals)
		}
	}
	if len(models) == 1 {
		sum.Model = slices.Collect(maps.Keys(models))[0]
	}
	return sum
}
