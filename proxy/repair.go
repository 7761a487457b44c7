package proxy

import (
	"context"
	"net/http"
	"time"

	"github.com/pare-llm/pare/wire"
)

// Repair plans the body of a POST to an address and returns the body to send: the original one if
// there is nothing to do or if anything is in doubt. It sends nothing and retries nothing. It is
// for clients that sign a request before a transport sees it. The record is nil if no provider
// accepts histories at that address.
func (t *Transport) Repair(ctx context.Context, address string, raw []byte) ([]byte, *Record) {
	d, model := wire.ParseURL(address)
	if d == wire.Auto || t.policy().Off || int64(len(raw)) > t.maxBody() {
		return raw, nil
	}
	began := time.Now()
	p := t.policy()
	b := &requestBody{buf: raw}
	b.hold()
	defer b.release()
	o := planWithinBudget(ctx, b, raw, planInput{policy: p, parseOptions: wire.Options{Dialect: d, Model: model, Profile: t.profile(d)}, prunesAlways: t.Prune, conversations: t.Conversations}, t.planTime(p))
	rec := &Record{ID: newID(), Time: began, Method: http.MethodPost, Dialect: d.String(), BytesIn: int64(len(raw)), BytesOut: int64(len(raw)), Planned: time.Since(began)}
	rec.setResult(&o)
	t.recordFaults(rec, o.faults...)
	if o.body == nil {
		return raw, rec
	}
	rec.BytesOut = int64(len(o.body))
	return o.body, rec
}
