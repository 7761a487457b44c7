package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/pare-llm/pare/internal/hosts"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// list reads a body that is in the shape of a host; nil: it is in none.
func (o *options) list(body []byte) (*hosts.List, error) {
	if o.host == "" && o.As != "" {
		return nil, nil
	}
	l, err := hosts.Find(body, o.host, o.reading)
	var syntax *jsonspan.SyntaxError
	if errors.As(err, &syntax) {
		return nil, &Error{Type: "unreadable", Message: err.Error()}
	}
	return l, err
}

// inHost is a call about a list in the shape of a host.
func (o *options) inHost(ctx context.Context, of row, l *hosts.List, cb *caller) (res Result, err error) {
	switch of.name {
	case "check":
		if res, err = o.check(l.Request, cb); err == nil {
			res.Report, err = l.Report(json.RawMessage(res.Report), "findings", l.Check(wire.CheckOptions{}))
		}
		return res, err
	case "count":
		if res, err = o.count(l.Request, cb); err == nil {
			res.Report, err = l.Report(json.RawMessage(res.Report), "", nil)
		}
		return res, err
	case "split":
		return o.splitList(l)
	}
	if of.tell != nil {
		return res, misuse("%s does not read the lists of programs", of.name)
	}
	p, err := o.policy(nil, of, cb)
	if err != nil {
		return res, err
	}
	plan, err := p.Plan(ctx, l.Request)
	if failed := cb.failed(); failed != nil {
		return res, failed
	}
	if err != nil {
		return res, err
	}
	out, err := l.Rewrite(plan)
	if err != nil || out == nil && len(l.Findings(plan.Result(), plan.Remaining())) == 0 {
		return res, err
	}
	res.Body = out
	res.Report, err = l.PlanReport(plan, out)
	return res, err
}

// splitList finds the cut in a list: between two of its elements.
func (o *options) splitList(l *hosts.List) (Result, error) {
	t := l.Request.Transcript()
	keep := or(o.MinKeep, 12)
	d := struct {
		Cut    int   `json:"cut"`
		Head   int   `json:"head"`
		Tail   int   `json:"tail"`
		Cuts   []int `json:"cuts"`
		Inside []int `json:"inside"`
	}{Tail: l.Len(), Cuts: []int{}, Inside: []int{}}
	for c := range t.Cuts() {
		at, first := l.ElementOf(c.Before())
		if c.Before() <= t.Preamble() || !first {
			continue
		}
		if c.Inside() {
			d.Inside = append(d.Inside, at)
		} else {
			d.Cuts = append(d.Cuts, at)
		}
		if l.Len()-at >= keep && (o.Inside || !c.Inside()) {
			d.Cut = max(d.Cut, at)
		}
	}
	if d.Cut == 0 {
		return reported(d)
	}
	d.Head, d.Tail = d.Cut, l.Len()-d.Cut
	res, err := reported(d)
	switch o.Part {
	case "head":
		res.Body = l.Slice(0, d.Cut)
	case "tail":
		res.Body = l.Slice(d.Cut, l.Len())
	}
	return res, err
}
