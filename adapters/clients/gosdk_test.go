package clients

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go/auth/bearer"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/pare-llm/pare/paretest"
)

// words are what an error of OpenAI's SDK says; its own text is the status alone.
func words(err error) error {
	var e *openai.Error
	if errors.As(err, &e) {
		return errors.New(e.Message)
	}
	return err
}

// bothProtocols are HTTP/1 and HTTP/2 without TLS, as clients on loopback speak them.
func bothProtocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

func TestAnthropicGo(t *testing.T) {
	try(t, func(t *testing.T, base string, history []turn, stream bool) (string, error) {
		c := anthropic.NewClient(anthropicoption.WithBaseURL(base), anthropicoption.WithAPIKey("none"), anthropicoption.WithMaxRetries(0))
		p := anthropic.MessageNewParams{Model: "claude-opus-4-6", MaxTokens: 100, Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "read"}}}}
		for _, h := range history {
			switch h.Kind {
			case "user":
				p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(h.Text)))
			case "say":
				p.Messages = append(p.Messages, anthropic.NewAssistantMessage(anthropic.NewTextBlock(h.Text)))
			case "call":
				p.Messages = append(p.Messages, anthropic.NewAssistantMessage(anthropic.NewToolUseBlock(h.ID, map[string]string{"path": h.Text}, "read")))
			case "result":
				p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewToolResultBlock(h.ID, h.Text, false)))
			}
		}
		var message anthropic.Message
		if !stream {
			m, err := c.Messages.New(t.Context(), p)
			if err != nil {
				return "", err
			}
			message = *m
		} else {
			s := c.Messages.NewStreaming(t.Context(), p)
			for s.Next() {
				if err := message.Accumulate(s.Current()); err != nil {
					return "", err
				}
			}
			if err := s.Err(); err != nil {
				return "", err
			}
		}
		if message.StopReason != "end_turn" || message.Usage.InputTokens == 0 {
			return "", errors.New("not a whole message: " + message.RawJSON())
		}
		return message.Content[0].Text, nil
	}, poisoned, "ids were found without `tool_result` blocks immediately after")
}

func TestOpenAIChatGo(t *testing.T) {
	try(t, func(t *testing.T, base string, history []turn, stream bool) (string, error) {
		c := openai.NewClient(openaioption.WithBaseURL(base+"/v1"), openaioption.WithAPIKey("none"), openaioption.WithMaxRetries(0))
		p := openai.ChatCompletionNewParams{Model: "gpt-5.5", StreamOptions: openai.ChatCompletionStreamOptionsParam{}}
		for _, h := range history {
			switch h.Kind {
			case "user":
				p.Messages = append(p.Messages, openai.UserMessage(h.Text))
			case "say":
				p.Messages = append(p.Messages, openai.AssistantMessage(h.Text))
			case "call":
				p.Messages = append(p.Messages, openai.ChatCompletionMessageParamUnion{OfAssistant: &openai.ChatCompletionAssistantMessageParam{
					ToolCalls: []openai.ChatCompletionMessageToolCallUnionParam{{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
						ID: h.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: "read", Arguments: `{"path":"` + h.Text + `"}`}}}}}})
			case "result":
				p.Messages = append(p.Messages, openai.ToolMessage(h.Text, h.ID))
			}
		}
		if !stream {
			m, err := c.Chat.Completions.New(t.Context(), p)
			if err != nil {
				return "", words(err)
			}
			return m.Choices[0].Message.Content, nil
		}
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
		s := c.Chat.Completions.NewStreaming(t.Context(), p)
		var all openai.ChatCompletionAccumulator
		for s.Next() {
			all.AddChunk(s.Current())
		}
		if err := s.Err(); err != nil {
			return "", words(err)
		}
		if all.Usage.TotalTokens == 0 || all.Choices[0].FinishReason != "stop" {
			return "", errors.New("not a whole completion: " + all.RawJSON())
		}
		return all.Choices[0].Message.Content, nil
	}, poisoned, "must be followed by tool messages responding to each")
}

func TestOpenAIResponsesGo(t *testing.T) {
	try(t, func(t *testing.T, base string, history []turn, stream bool) (string, error) {
		c := openai.NewClient(openaioption.WithBaseURL(base+"/v1"), openaioption.WithAPIKey("none"), openaioption.WithMaxRetries(0))
		var input responses.ResponseInputParam
		for _, h := range history {
			switch h.Kind {
			case "user":
				input = append(input, responses.ResponseInputItemParamOfMessage(h.Text, responses.EasyInputMessageRoleUser))
			case "say":
				input = append(input, responses.ResponseInputItemParamOfMessage(h.Text, responses.EasyInputMessageRoleAssistant))
			case "call":
				input = append(input, responses.ResponseInputItemParamOfFunctionCall(`{"path":"`+h.Text+`"}`, h.ID, "read"))
			case "result":
				item := responses.ResponseInputItemParamOfFunctionCallOutput(h.Text)
				item.OfFunctionCallOutput.CallID = param.NewOpt(h.ID)
				input = append(input, item)
			}
		}
		p := responses.ResponseNewParams{Model: "gpt-5.5", Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input}}
		if !stream {
			m, err := c.Responses.New(t.Context(), p)
			if err != nil {
				return "", words(err)
			}
			return m.OutputText(), nil
		}
		s := c.Responses.NewStreaming(t.Context(), p)
		said, done := "", ""
		for s.Next() {
			switch e := s.Current().AsAny().(type) {
			case responses.ResponseTextDeltaEvent:
				said += e.Delta
			case responses.ResponseCompletedEvent:
				done = e.Response.OutputText()
			}
		}
		if err := s.Err(); err != nil {
			return "", words(err)
		}
		if said != done {
			return "", errors.New("not a whole response: " + said + " / " + done)
		}
		return said, nil
	}, poisoned, "No tool output found for function call")
}

func TestGeminiGo(t *testing.T) {
	try(t, func(t *testing.T, base string, history []turn, stream bool) (string, error) {
		c, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: base}})
		if err != nil {
			return "", err
		}
		var contents []*genai.Content
		add := func(role genai.Role, part *genai.Part) {
			if n := len(contents); n > 0 && contents[n-1].Role == string(role) {
				contents[n-1].Parts = append(contents[n-1].Parts, part)
				return
			}
			contents = append(contents, &genai.Content{Role: string(role), Parts: []*genai.Part{part}})
		}
		for _, h := range history {
			switch h.Kind {
			case "user":
				add(genai.RoleUser, genai.NewPartFromText(h.Text))
			case "say":
				add(genai.RoleModel, genai.NewPartFromText(h.Text))
			case "call":
				add(genai.RoleModel, genai.NewPartFromFunctionCall("read", map[string]any{"path": h.Text}))
			case "result":
				add(genai.RoleUser, genai.NewPartFromFunctionResponse("read", map[string]any{"output": h.Text}))
			}
		}
		if !stream {
			m, err := c.Models.GenerateContent(t.Context(), "gemini-2.5-flash", contents, nil)
			if err != nil {
				return "", err
			}
			return m.Text(), nil
		}
		said := ""
		for m, err := range c.Models.GenerateContentStream(t.Context(), "gemini-2.5-flash", contents, nil) {
			if err != nil {
				return "", err
			}
			said += m.Text()
		}
		return said, nil
	}, poisoned, "number of function response parts is equal to the number of function call parts")
}

// bedrock is a client of Bedrock with a key that signs, or with one that does not.
func bedrock(signs bool) client {
	return func(t *testing.T, base string, history []turn, stream bool) (string, error) {
		o := bedrockruntime.Options{Region: "us-east-1", BaseEndpoint: aws.String(base), RetryMaxAttempts: 1}
		if signs {
			o.Credentials = credentials.NewStaticCredentialsProvider("AKID", "SECRET", "")
		} else {
			// The SDK sends no token without TLS; what is tried here lies behind it.
			o.BaseEndpoint, o.HTTPClient = aws.String(strings.Replace(base, "http:", "https:", 1)), &http.Client{Transport: plainly{}}
			o.BearerAuthTokenProvider = bearer.StaticTokenProvider{Token: bearer.Token{Value: "none"}}
			o.AuthSchemePreference = []string{"httpBearerAuth"}
		}
		c := bedrockruntime.New(o)
		var messages []types.Message
		add := func(role types.ConversationRole, block types.ContentBlock) {
			if n := len(messages); n > 0 && messages[n-1].Role == role {
				messages[n-1].Content = append(messages[n-1].Content, block)
				return
			}
			messages = append(messages, types.Message{Role: role, Content: []types.ContentBlock{block}})
		}
		for _, h := range history {
			switch h.Kind {
			case "user":
				add(types.ConversationRoleUser, &types.ContentBlockMemberText{Value: h.Text})
			case "say":
				add(types.ConversationRoleAssistant, &types.ContentBlockMemberText{Value: h.Text})
			case "call":
				add(types.ConversationRoleAssistant, &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{
					ToolUseId: &h.ID, Name: aws.String("read"), Input: document.NewLazyDocument(map[string]string{"path": h.Text})}})
			case "result":
				add(types.ConversationRoleUser, &types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{
					ToolUseId: &h.ID, Content: []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: h.Text}}}})
			}
		}
		tools := &types.ToolConfiguration{Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
			Name: aws.String("read"), InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(map[string]string{"type": "object"})}}}}}
		model := aws.String("us.anthropic.claude-opus-4-6-v1:0")
		if !stream {
			m, err := c.Converse(t.Context(), &bedrockruntime.ConverseInput{ModelId: model, Messages: messages, ToolConfig: tools})
			if err != nil {
				return "", err
			}
			return m.Output.(*types.ConverseOutputMemberMessage).Value.Content[0].(*types.ContentBlockMemberText).Value, nil
		}
		m, err := c.ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{ModelId: model, Messages: messages, ToolConfig: tools})
		if err != nil {
			return "", err
		}
		defer m.GetStream().Close()
		said, stopped := "", false
		for e := range m.GetStream().Events() {
			switch e := e.(type) {
			case *types.ConverseStreamOutputMemberContentBlockDelta:
				said += e.Value.Delta.(*types.ContentBlockDeltaMemberText).Value
			case *types.ConverseStreamOutputMemberMessageStop:
				stopped = true
			}
		}
		if !stopped {
			return "", errors.New("not a whole message")
		}
		return said, m.GetStream().Err()
	}
}

// plainly sends requests without TLS.
type plainly struct{}

func (plainly) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = "http"
	return http.DefaultTransport.RoundTrip(r)
}

func TestBedrockGo(t *testing.T) {
	try(t, bedrock(false), poisoned, "Expected toolResult blocks at messages.")
}

// TestBedrockSignedGo: a signature covers the body, so that what is signed is not changed
// on the way: the provider's answer comes back.
func TestBedrockSignedGo(t *testing.T) {
	l := newLab(t, &paretest.Mock{})
	for _, stream := range []bool{false, true} {
		c := bedrock(true)
		said, err := c(t, l.direct, normal, stream)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c(t, l.through, normal, stream); err != nil || got != said {
			t.Errorf("through the proxy: %q, %v, want %q", got, err, said)
		}
		sameRequests(t, l.alone.take(t), l.behind.take(t))
		var bad *types.ValidationException
		_, err = c(t, l.through, poisoned, stream)
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "Expected toolResult blocks") {
			t.Errorf("poisoned: %v", err)
		}
		l.behind.take(t)
	}
}
