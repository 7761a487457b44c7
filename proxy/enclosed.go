package proxy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// enclosed plans what the body holds: a request, one in another, or many of them.
func (x *exchange) enclosed() outcome {
	switch {
	case x.sight.batch:
		return x.batch()
	case x.sight.opaque && wirex.DetectInvokeModel(x.plain) != x.aim.read.Dialect:
		return outcome{skip: skipUnknown, detail: "the body does not say that it is for a model of Anthropic"}
	}
	in := wire.Envelope{Body: x.plain}
	if x.aim.unfitted {
		// What is only to be counted may lie in another request, as the whole of a request for
		// a reply does on Gemini and Bedrock.
		if in = wire.Unwrap(x.plain); len(in.Body) == len(x.plain) {
			if e, ok := wirex.UnwrapInvokeModel(x.plain); ok && e.Dialect != wire.Auto {
				in = e
				x.aim.read.Dialect, x.aim.read.Profile = e.Dialect, x.t.profile(e.Dialect)
			}
		}
	}
	o := planned(x.in.Context(), x.body, in.Body, x.aim, x.t.planTime(x.aim.policy))
	if o.body != nil {
		o.body = in.Holding(x.plain, o.body)
	}
	return o
}

// batchTime is how long planning a batch may take, if no more is allowed anyway: nobody waits
// for its first word.
const batchTime = 10 * time.Second

// batch plans the requests of a batch, each by itself. What is learned of conversations comes
// from replies, and is not for them: theirs come later, and elsewhere. For the same reason
// nothing can be healed.
func (x *exchange) batch() outcome {
	all, err := wirex.Batch(x.aim.read.Dialect, x.plain)
	switch {
	case err != nil:
		return outcome{skip: skipInvalid, detail: err.Error()}
	case len(all) == 0:
		return outcome{skip: skipUnknown, detail: "there are no requests in it"}
	}
	each := x.aim
	each.conversations, each.own = nil, true
	most := x.t.planTime(each.policy)
	if most >= 0 {
		most = max(most, batchTime, planTimeFor(len(x.plain)))
	}
	return within(x.in.Context(), x.body, int64(len(x.plain)), weight(x.plain), each.policy.Compact != nil, most, func(ctx context.Context) outcome { return planEach(ctx, x.plain, all, each) })
}

// planEach plans the requests of a batch, and puts together what comes of it.
func planEach(ctx context.Context, raw []byte, all []wire.Envelope, a aim) (o outcome) {
	o.requests = len(all)
	var edits []jsonspan.Edit
	var left []string // those that go on as they came
	var first outcome // of those
	same := true
	for i, e := range all {
		if err := ctx.Err(); err != nil {
			return outcome{skip: skipTime, detail: err.Error(), requests: len(all)}
		}
		one := plan(ctx, e.Body, a)
		o.faults = append(o.faults, one.faults...)
		o.over = o.over || one.over
		path := strings.ReplaceAll(e.Pointer[1:], "/", ".")
		if one.skip != "" {
			if left = append(left, path); len(left) == 1 {
				first = one
			}
		}
		if i == 0 {
			o.glance = one.glance
		} else {
			o.glance.Messages += one.glance.Messages
			same = same && one.glance.Profile.Model == o.glance.Profile.Model
		}
		if one.body == nil {
			continue
		}
		edits = append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: e.At, End: e.At + len(e.Body)}, New: one.body})
		for _, c := range one.changes {
			c.Path = strings.TrimSuffix(path+"."+c.Path, ".")
			o.changes = append(o.changes, c)
		}
		o.tokens[0] += one.tokens[0]
		o.tokens[1] += one.tokens[1]
	}
	if !same {
		o.glance.Profile.Model = ""
	}
	if len(left) > 0 {
		o.detail = fmt.Sprintf("%d of %d went on as they came, the first is %s: %s", len(left), len(all), left[0], first.skip)
		if first.detail != "" {
			o.detail += ", " + first.detail
		}
	}
	if len(edits) == 0 {
		o.skip = first.skip
		return o
	}
	body, err := jsonspan.Splice(raw, edits)
	if err != nil {
		return o.skipped(skipError, err.Error())
	}
	o.body = body
	return o
}
