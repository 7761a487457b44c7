package proxy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// planEnclosed plans a body: a single request, a request inside another one, or a batch.
func (x *exchange) planEnclosed() planResult {
	switch {
	case x.path.isBatch:
		return x.planBatch()
	case x.path.needsBodyCheck && dialect.DetectInvokeModel(x.decompressed) != x.input.parseOptions.Dialect:
		return planResult{skipReason: skipUnknown, detail: "the body does not say that it is for a model of Anthropic"}
	}
	in := wire.Envelope{Body: x.decompressed}
	if x.input.isCountOnly {
		// A count request may contain a whole request for a reply, as on Gemini and Bedrock.
		if in = wire.Unwrap(x.decompressed); len(in.Body) == len(x.decompressed) {
			if e, ok := dialect.UnwrapInvokeModel(x.decompressed); ok && e.Dialect != wire.Auto {
				in = e
				x.input.parseOptions.Dialect, x.input.parseOptions.Profile = e.Dialect, x.transport.profile(e.Dialect)
			}
		}
	}
	o := planWithinBudget(x.request.Context(), x.body, in.Body, x.input, x.transport.planTime(x.input.policy))
	if o.body != nil {
		o.body = in.Holding(x.decompressed, o.body)
	}
	return o
}

// batchTime is the minimal time limit for planning a batch, because batches are not interactive.
const batchTime = 10 * time.Second

// planBatch plans each request of a batch. Their replies arrive later and elsewhere, so that
// nothing is learned or retried.
func (x *exchange) planBatch() planResult {
	all, err := dialect.Batch(x.input.parseOptions.Dialect, x.decompressed)
	switch {
	case err != nil:
		return planResult{skipReason: skipInvalid, detail: err.Error()}
	case len(all) == 0:
		return planResult{skipReason: skipUnknown, detail: "there are no requests in it"}
	}
	each := x.input
	each.conversations, each.noProviderEdits = nil, true
	most := x.transport.planTime(each.policy)
	if most >= 0 {
		most = max(most, batchTime, planTimeFor(len(x.decompressed)))
	}
	return runWithinBudget(x.request.Context(), x.body, int64(len(x.decompressed)), planMemory(x.decompressed), each.policy.Compact != nil, most, func(ctx context.Context) planResult { return planBatchRequests(ctx, x.decompressed, all, each) })
}

// planBatchRequests plans the requests of a batch and merges the results.
func planBatchRequests(ctx context.Context, raw []byte, all []wire.Envelope, a planInput) (o planResult) {
	o.batchSize = len(all)
	var edits []jsonspan.Edit
	var left []string    // those that go on as they came
	var first planResult // of those
	same := true
	for i, e := range all {
		if err := ctx.Err(); err != nil {
			return planResult{skipReason: skipTime, detail: err.Error(), batchSize: len(all)}
		}
		one := planBody(ctx, e.Body, a)
		o.faults = append(o.faults, one.faults...)
		o.wasTooLarge = o.wasTooLarge || one.wasTooLarge
		path := strings.ReplaceAll(e.Pointer[1:], "/", ".")
		if one.skipReason != "" {
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
		o.detail = fmt.Sprintf("%d of %d went on as they came, the first is %s: %s", len(left), len(all), left[0], first.skipReason)
		if first.detail != "" {
			o.detail += ", " + first.detail
		}
	}
	if len(edits) == 0 {
		o.skipReason = first.skipReason
		return o
	}
	body, err := jsonspan.Splice(raw, edits)
	if err != nil {
		return o.withSkip(skipError, err.Error())
	}
	o.body = body
	return o
}
