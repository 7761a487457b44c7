// Package smithy repairs requests of the AWS SDK for Go before they are signed.
//
// A signature of AWS covers the body, so that a transport comes too late. This is a step of
// the SDK's own stack, in front of the hash:
//
//	client := bedrockruntime.NewFromConfig(conf, func(o *bedrockruntime.Options) {
//		o.APIOptions = append(o.APIOptions, smithy.Middleware(nil))
//	})
package smithy

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/pare-llm/pare/proxy"
)

// Middleware is for the APIOptions of a client of Bedrock. The transport says how requests
// are repaired, and sends none; nil is the default. Refusals are not healed.
func Middleware(t *proxy.Transport) func(*middleware.Stack) error {
	if t == nil {
		t = &proxy.Transport{}
	}
	return func(s *middleware.Stack) error {
		return s.Finalize.Insert(repair{t}, "ComputePayloadHash", middleware.Before)
	}
}

type repair struct{ t *proxy.Transport }

func (repair) ID() string { return "Pare" }

// HandleFinalize puts the repaired body in the place of the one that is about to be signed.
// It runs once for each attempt.
func (m repair) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	req, ok := in.Request.(*smithyhttp.Request)
	if !ok || req.GetStream() == nil {
		return next.HandleFinalize(ctx, in)
	}
	raw, err := io.ReadAll(req.GetStream())
	if err != nil {
		return middleware.FinalizeOutput{}, middleware.Metadata{}, fmt.Errorf("read the body of the request: %w", err)
	}
	body, rec := m.t.Repair(ctx, req.URL.String(), raw)
	if rec != nil && m.t.Record != nil {
		m.t.Record(rec)
	}
	if req, err = req.SetStream(bytes.NewReader(body)); err != nil {
		return middleware.FinalizeOutput{}, middleware.Metadata{}, fmt.Errorf("replace the body of the request: %w", err)
	}
	req.ContentLength = int64(len(body))
	in.Request = req
	return next.HandleFinalize(ctx, in)
}
