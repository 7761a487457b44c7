package smithy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/pare-llm/pare/adapters/smithy"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
)

// TestMiddleware sends a call without a result: refused without Pare, answered with it. The
// hash that is signed is that of the body that arrives.
func TestMiddleware(t *testing.T) {
	mock := &paretest.Mock{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sum := sha256.Sum256(body)
		if h := r.Header.Get("X-Amz-Content-Sha256"); h != "" && h != hex.EncodeToString(sum[:]) {
			t.Errorf("the hash is that of another body")
		}
		if r.ContentLength != int64(len(body)) {
			t.Errorf("length %d of %d", r.ContentLength, len(body))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		mock.ServeHTTP(w, r)
	}))
	defer server.Close()
	in := &bedrockruntime.ConverseInput{
		ModelId: aws.String("us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
		Messages: []types.Message{
			{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "hi"}}},
			{Role: types.ConversationRoleAssistant, Content: []types.ContentBlock{&types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{
				ToolUseId: aws.String("t1"), Name: aws.String("f"), Input: document.NewLazyDocument(map[string]any{}),
			}}}},
			{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "and?"}}},
		},
		ToolConfig: &types.ToolConfiguration{Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
			Name: aws.String("f"), InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(map[string]any{"type": "object"})},
		}}}},
	}
	o := bedrockruntime.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	}
	if _, err := bedrockruntime.New(o).Converse(t.Context(), in); err == nil {
		t.Error("it is not refused without Pare")
	}
	var records []*proxy.Record
	o.APIOptions = append(o.APIOptions, smithy.Middleware(&proxy.Transport{PlanTime: -1, Record: func(r *proxy.Record) { records = append(records, r) }}))
	if _, err := bedrockruntime.New(o).Converse(t.Context(), in); err != nil {
		t.Error(err)
	}
	if len(records) != 1 || len(records[0].Changes) == 0 {
		t.Errorf("records %v", records)
	}
}
