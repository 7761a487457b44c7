package truth

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pare-llm/pare/internal/hosts"
	"github.com/pare-llm/pare/wire"
)

// A form is a way to write a conversation: a dialect, or the list of a host. In its templates ~ becomes a marker
// that is nowhere else, "^c" an id that is the same wherever its group has it, and "#" a number that is nowhere else.
type form struct {
	*shape
	dialect wire.Dialect // Auto: the list of a host
	host    string
}

// words of a tool's output that is long.
var longOutput = strings.Repeat("a line of the log ~\\n", 60)

// forms are the six dialects and the eight shapes of hosts.
func forms() []form {
	all := []form{
		{shape: of("anthropic", dialectFamily, `{"model":"claude-sonnet-4-5","max_tokens":1024,"thinking":{"type":"enabled","budget_tokens":1024},"system":"be ~ brief","tools":[{"name":"read","input_schema":{"type":"object"}},{"name":"list_orders","input_schema":{"type":"object"}}],"messages":["@"]}`, anthropicGroups...), dialect: wire.Anthropic},
		{shape: of("openai-chat", dialectFamily, `{"model":"gpt-5","messages":["@"]}`, chatGroups...), dialect: wire.OpenAIChat},
		{shape: of("openai-responses", dialectFamily, `{"model":"gpt-5","input":["@"]}`, responsesGroups...), dialect: wire.OpenAIResponses},
		{shape: of("gemini", dialectFamily, `{"model":"gemini-2.5-pro","contents":["@"]}`, geminiGroups...), dialect: wire.Gemini},
		{shape: of("bedrock", dialectFamily, `{"modelId":"anthropic.claude-sonnet-4-5-20250929-v1:0","messages":["@"]}`, bedrockGroups...), dialect: wire.Bedrock},
		{shape: of("gemini-interactions", dialectFamily, `{"model":"gemini-2.5-pro","input":["@"]}`, interactionsGroups...), dialect: wire.GeminiInteractions},
	}
	for _, name := range hosts.Names() {
		frame := `["@"]`
		switch name {
		case "sharegpt":
			frame = `{"id":"x","conversations":["@"]}`
		case "ai-sdk":
			frame = `{"messages":["@"]}`
		}
		all = append(all, form{shape: of(name, frameworkFamily, frame, hostGroups[name]...), host: name})
	}
	return all
}

var anthropicGroups = []string{
	`[{"role":"user","content":"please ~ look"}]`,
	`[{"role":"user","content":[{"type":"text","text":"at ~ this"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw~KGgo="}}]},{"role":"assistant","content":[{"type":"text","text":"I ~ see"}]}]`,
	`[{"role":"assistant","content":[{"type":"thinking","thinking":"let ~ me","signature":"c2ln~"},{"type":"text","text":"looking ~ now"},{"type":"tool_use","id":"^c","name":"read","input":{"path":"a~","n":"#"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"^c","content":[{"type":"text","text":"found ~ it"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw~"}}]},{"type":"image","source":{"type":"url","url":"https://example.com/~.png"}}]}]`,
	`[{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln~"},{"type":"tool_use","id":"^c","name":"read","input":{"path":"a~"}},{"type":"tool_use","id":"^d","name":"list_orders","input":{"n":"b~"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"^c","name":"read","content":"first ~ one"},{"type":"tool_result","tool_use_id":"^d","name":"list_orders","is_error":true,"content":"second ~ failed"},{"type":"text","text":"and ~ now"}]}]`,
	`[{"role":"assistant","content":[{"type":"server_tool_use","id":"^srvtoolu_1","name":"code_execution","input":{"code":"print~"}},{"type":"code_execution_tool_result","tool_use_id":"^srvtoolu_1","content":{"type":"code_execution_result","stdout":"LONG","stderr":"","return_code":0,"content":[{"type":"code_execution_output","file_id":"file_~"}]}},{"type":"text","text":"it ~ ran"}]},{"role":"user","content":"go ~ on"}]`,
	`[{"role":"assistant","content":[{"type":"redacted_thinking","data":"cmVk~"},{"type":"mcp_tool_use","id":"^mcptoolu_1","name":"echo","server_name":"srv","input":{"text":"s~"}},{"type":"mcp_tool_result","tool_use_id":"^mcptoolu_1","is_error":false,"content":[{"type":"text","text":"LONG"}]}]},{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"the ~ page"},"title":"a ~ title","context":"some ~ context"},{"type":"text","text":"read ~ it"}]}]`,
}

var chatGroups = []string{
	`[{"role":"user","content":"please ~ look"}]`,
	`[{"role":"system","content":"be ~ brief"},{"role":"user","content":[{"type":"text","text":"what ~ is"},{"type":"image_url","image_url":{"url":"https://example.com/~.png"}}]}]`,
	`[{"role":"assistant","content":"I ~ look","tool_calls":[{"id":"^c","type":"function","function":{"name":"read","arguments":"{\"path\":\"a~\"}"}}]},{"role":"tool","tool_call_id":"^c","name":"read","content":"found ~ it"}]`,
	`[{"role":"assistant","content":null,"reasoning_content":"hm ~ hm","tool_calls":[{"id":"^c","type":"function","function":{"name":"read","arguments":"{\"path\":\"a~\"}"}},{"id":"^d","type":"function","function":{"name":"list_orders","arguments":"{\"n\":\"b~\"}"}}]},{"role":"tool","tool_call_id":"^c","name":"read","content":[{"type":"text","text":"LONG"}]},{"role":"tool","tool_call_id":"^d","name":"list_orders","content":"two ~ orders"},{"role":"user","content":"so ~ what"}]`,
	`[{"role":"assistant","content":null,"audio":{"id":"audio_~"},"refusal":"I ~ must not"},{"role":"user","content":[{"type":"file","file":{"filename":"a~.pdf","file_data":"data:application/pdf;base64,JVBE~"}},{"type":"text","text":"and ~ this"}]}]`,
}

var responsesGroups = []string{
	`[{"role":"user","content":"please ~ look"}]`,
	`[{"type":"message","role":"user","content":[{"type":"input_text","text":"this ~ one"},{"type":"input_image","image_url":"https://example.com/~.png"}]},{"type":"message","role":"assistant","status":"completed","id":"^msg_1","content":[{"type":"output_text","text":"I ~ see","annotations":[]}]}]`,
	`[{"type":"reasoning","id":"^rs_1","summary":[{"type":"summary_text","text":"which ~ tool"}],"encrypted_content":"gAAA~"},{"type":"function_call","id":"^fc_1","call_id":"^c","name":"read","arguments":"{\"path\":\"a~\"}","status":"completed"},{"type":"function_call_output","call_id":"^c","output":"found ~ it"}]`,
	`[{"type":"reasoning","id":"^rs_2","summary":[]},{"type":"function_call","call_id":"^c","name":"read","arguments":"{\"path\":\"a~\"}"},{"type":"custom_tool_call","call_id":"^d","name":"exec","input":"ls ~ here"},{"type":"function_call_output","call_id":"^c","output":[{"type":"input_text","text":"one ~ two"},{"type":"input_image","image_url":"data:image/png;base64,iVBO~"}]},{"type":"custom_tool_call_output","call_id":"^d","output":"LONG"}]`,
	`[{"type":"mcp_call","id":"^mcp_1","name":"echo","server_label":"srv","arguments":"{\"text\":\"s~\"}","output":"LONG","error":null},{"type":"code_interpreter_call","id":"^ci_1","container_id":"cntr_~","code":"print~","status":"completed","outputs":[{"type":"logs","logs":"LONG"}]},{"type":"image_generation_call","id":"^ig_1","status":"completed","result":"iVBORw~"},{"type":"message","role":"user","content":[{"type":"input_text","text":"thank ~ you"}]}]`,
}

var geminiGroups = []string{
	`[{"role":"user","parts":[{"text":"please ~ look"}]}]`,
	`[{"role":"user","parts":[{"text":"at ~ this"},{"inlineData":{"mimeType":"image/png","data":"iVBO~"}}]},{"role":"model","parts":[{"thought":true,"text":"let ~ me"},{"text":"I ~ see","thoughtSignature":"c2ln~"},{"inlineData":{"mimeType":"image/png","data":"iVBO~"}}]}]`,
	`[{"role":"model","parts":[{"functionCall":{"id":"^c","name":"read","args":{"path":"a~"}},"thoughtSignature":"c2ln~"}]},{"role":"user","parts":[{"functionResponse":{"id":"^c","name":"read","response":{"output":"found ~ it"}}}]}]`,
	`[{"role":"model","parts":[{"functionCall":{"name":"read","args":{"path":"a~"}}},{"functionCall":{"name":"list_orders","args":{"n":"b~"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"LONG"}}},{"functionResponse":{"name":"list_orders","response":{"orders":["two ~ of them"],"n":"#"}}}]}]`,
	`[{"role":"model","parts":[{"functionCall":{"id":"^c","name":"read","args":{"path":"a~"}}}]},{"role":"user","parts":[{"functionResponse":{"id":"^c","name":"read","response":{"output":"with ~ it"},"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBO~"}}]}},{"inlineData":{"mimeType":"image/png","data":"iVBO~"}}]},{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"print~"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"LONG"}},{"text":"it ~ ran"}]},{"role":"user","parts":[{"fileData":{"mimeType":"text/plain","fileUri":"https://example.com/~"}},{"text":"and ~ now"}]}]`,
}

var bedrockGroups = []string{
	`[{"role":"user","content":[{"text":"please ~ look"}]}]`,
	`[{"role":"user","content":[{"text":"at ~ this"},{"image":{"format":"png","source":{"bytes":"iVBO~"}}},{"cachePoint":{"type":"default"}}]},{"role":"assistant","content":[{"text":"I ~ see"}]}]`,
	`[{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"let ~ me","signature":"c2ln~"}}},{"toolUse":{"toolUseId":"^c","name":"read","input":{"path":"a~"}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"^c","content":[{"text":"found ~ it"},{"image":{"format":"png","source":{"bytes":"iVBO~"}}}],"status":"success"}},{"cachePoint":{"type":"default"}}]}]`,
	`[{"role":"assistant","content":[{"reasoningContent":{"redactedContent":"cmVk~"}},{"toolUse":{"toolUseId":"^c","name":"read","input":{"path":"a~"}}},{"toolUse":{"toolUseId":"^d","name":"list_orders","input":{"n":"#"}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"^c","content":[{"json":{"found":"as ~ json"}}]}},{"toolResult":{"toolUseId":"^d","content":[{"text":"LONG"}],"status":"error"}},{"text":"and ~ now"}]}]`,
}

var interactionsGroups = []string{
	`[{"type":"user_input","content":[{"type":"text","text":"please ~ look"}]}]`,
	`[{"type":"user_input","content":[{"type":"text","text":"at ~ this"},{"type":"image","data":"iVBO~","mime_type":"image/png"}]},{"type":"model_output","content":[{"type":"text","text":"I ~ see"},{"type":"image","data":"iVBO~","mime_type":"image/png"}]}]`,
	`[{"type":"thought","signature":"c2ln~","summary":[{"type":"text","text":"let ~ me"}]},{"type":"function_call","id":"^c","name":"read","arguments":{"path":"a~"}},{"type":"function_result","call_id":"^c","name":"read","result":"found ~ it"}]`,
	`[{"type":"thought","signature":"c2ln~"},{"type":"function_call","id":"^c","name":"read","arguments":{"path":"a~"}},{"type":"function_call","id":"^d","name":"list_orders","arguments":{"n":"b~"}},{"type":"function_result","call_id":"^c","name":"read","result":{"k":"LONG"}},{"type":"function_result","call_id":"^d","name":"list_orders","is_error":true,"result":[{"type":"text","text":"two ~ of them"}]}]`,
	`[{"type":"code_execution_call","id":"^e","arguments":{"language":"python","code":"print~"}},{"type":"code_execution_result","call_id":"^e","result":"LONG","signature":"c2ln~"},{"type":"model_output","content":[{"type":"text","text":"it ~ ran"}]},{"type":"user_input","content":[{"type":"text","text":"go ~ on"}]}]`,
}

func envelopeOf(kind, role, content, payload, metadata string) string {
	return fmt.Sprintf(`{"schema":"agents-api.message","version":1,"type":%q,"role":%q,"content":%s,"payload":%s,"metadata":%s,"created_at":"2026-11-01 ~"}`, kind, role, content, payload, metadata)
}

// hostGroups are lists as the programs of a host write them, by its name.
var hostGroups = map[string][]string{
	"pi": {
		`[{"role":"user","content":"please ~ look","timestamp":"#"}]`,
		`[{"role":"user","content":[{"type":"text","text":"at ~ this"},{"type":"image","data":"iVBO~","mimeType":"image/png"}],"timestamp":"#"},{"role":"assistant","content":[{"type":"text","text":"I ~ see"}],"api":"x","provider":"y","usage":{"input":"#"},"stopReason":"stop","timestamp":"#"}]`,
		`[{"role":"assistant","content":[{"type":"thinking","thinking":"","thinkingSignature":"c2ln~"},{"type":"toolCall","id":"^c","name":"read","arguments":{"path":"a~"}}],"api":"x","provider":"y","stopReason":"toolUse","timestamp":"#"},{"role":"toolResult","toolCallId":"^c","toolName":"read","content":[{"type":"text","text":"found ~ it"},{"type":"image","data":"iVBO~","mimeType":"image/png"}],"details":{"diff":"plus ~ minus"},"isError":false,"timestamp":"#"}]`,
		`[{"role":"assistant","content":[{"type":"thinking","thinking":"let ~ me"},{"type":"text","text":"two ~ calls"},{"type":"toolCall","id":"^c","name":"read","arguments":{"path":"a~"}},{"type":"toolCall","id":"^d","name":"list_orders","arguments":{"n":"#"}}],"api":"x","stopReason":"toolUse","timestamp":"#"},{"role":"toolResult","toolCallId":"^c","toolName":"read","content":[{"type":"text","text":"LONG"}],"isError":false,"timestamp":"#"},{"role":"toolResult","toolCallId":"^d","toolName":"list_orders","content":[{"type":"text","text":"two ~ orders"}],"isError":true,"timestamp":"#"}]`,
		`[{"role":"bashExecution","command":"ls ~ here","output":"LONG","exitCode":0,"timestamp":"#"}]`,
	},
	"ai-sdk": {
		`[{"role":"user","content":"please ~ look"}]`,
		`[{"role":"user","content":[{"type":"text","text":"at ~ this","providerOptions":{"x":{"k":"v~"}}},{"type":"image","image":"iVBO~","mediaType":"image/png"}]},{"role":"assistant","content":[{"type":"text","text":"I ~ see"},{"type":"file","data":"iVBO~","mediaType":"image/png"}]}]`,
		`[{"role":"assistant","content":[{"type":"reasoning","text":"","providerOptions":{"anthropic":{"signature":"c2ln~"}}},{"type":"tool-call","toolCallId":"^c","toolName":"read","input":{"path":"a~"}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"^c","toolName":"read","output":{"type":"json","value":{"found":"as ~ json","n":"#"}},"providerOptions":{"x":{"k":"v~"}}}]}]`,
		`[{"role":"assistant","content":[{"type":"text","text":"two ~ calls"},{"type":"tool-call","toolCallId":"^c","toolName":"read","input":{"path":"a~"}},{"type":"tool-call","toolCallId":"^d","toolName":"list_orders","input":{"n":"b~"}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"^c","toolName":"read","output":{"type":"content","value":[{"type":"text","text":"LONG"},{"type":"media","data":"iVBO~","mediaType":"image/png"}]}},{"type":"tool-result","toolCallId":"^d","toolName":"list_orders","output":{"type":"error-text","value":"it ~ failed"}}]}]`,
		`[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"^s","toolName":"web_search","input":{"query":"q~"},"providerExecuted":true},{"type":"tool-result","toolCallId":"^s","toolName":"web_search","output":{"type":"json","value":[{"title":"LONG"}]}},{"type":"text","text":"they ~ did"}]},{"role":"user","content":"thank ~ you"}]`,
	},
	"ai-sdk-ui": {
		`[{"id":"#n","role":"user","parts":[{"type":"text","text":"please ~ look"}]}]`,
		`[{"id":"#n","role":"user","metadata":{"note":"a ~ note"},"parts":[{"type":"file","mediaType":"image/png","url":"https://example.com/~.png"},{"type":"text","text":"at ~ this"}]},{"id":"#n","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"","providerMetadata":{"a":{"signature":"c2ln~"}}},{"type":"text","text":"I ~ see"},{"type":"file","mediaType":"image/png","url":"data:image/png;base64,iVBO~"}]}]`,
		`[{"id":"#n","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-read","toolCallId":"^c","state":"output-available","input":{"path":"a~"},"output":"LONG"},{"type":"text","text":"so ~ it is"}]}]`,
		`[{"id":"#n","role":"assistant","parts":[{"type":"tool-read","toolCallId":"^c","state":"input-available","input":{"path":"a~"},"callProviderMetadata":{"k":"v~"}},{"type":"dynamic-tool","toolName":"list_orders","toolCallId":"^d","state":"output-error","input":{"n":"#"},"errorText":"it ~ failed"}]},{"id":"#n","role":"user","parts":[{"type":"text","text":"go ~ on"}]}]`,
		`[{"id":"#n","role":"assistant","parts":[{"type":"tool-invocation","toolInvocation":{"state":"call","toolCallId":"^c","toolName":"read","args":{"path":"a~"}}},{"type":"data-weather","data":{"k":"v~"}},{"type":"tool-web_search","toolCallId":"^d","state":"output-available","providerExecuted":true,"input":{"query":"q~"},"output":[{"title":"LONG"}]}]}]`,
	},
	"langchain": {
		`[{"type":"human","content":"please ~ look","id":"#n"}]`,
		`[{"type":"human","content":[{"type":"text","text":"at ~ this"},{"type":"image_url","image_url":{"url":"https://example.com/~.png"}}]},{"type":"ai","content":"I ~ see","response_metadata":{"k":"v~"},"usage_metadata":{"input_tokens":"#"}}]`,
		`[{"type":"ai","content":"I ~ look","tool_calls":[{"name":"read","args":{"path":"a~"},"id":"^c","type":"tool_call"}],"additional_kwargs":{"tool_calls":[{"id":"^c","function":{"name":"read","arguments":"{\"path\":\"a~\"}"}}],"k":"v~"}},{"type":"tool","content":"found ~ it","tool_call_id":"^c","name":"read","artifact":{"raw":"the ~ whole"}}]`,
		`[{"type":"ai","content":[{"type":"thinking","thinking":"","signature":"c2ln~"},{"type":"text","text":"two ~ calls"},{"type":"tool_use","id":"^c","name":"read","input":{"path":"a~"}}],"tool_calls":[{"name":"read","args":{"path":"b~"},"id":"^c","type":"tool_call"},{"name":"list_orders","args":{"n":"#"},"id":"^d","type":"tool_call"}]},{"type":"tool","content":[{"type":"text","text":"LONG"},{"type":"image_url","image_url":{"url":"https://example.com/~.png"}}],"tool_call_id":"^c","name":"read"},{"type":"tool","content":"two ~ orders","tool_call_id":"^d","name":"list_orders","status":"error"}]`,
		`[{"type":"ai","content":[{"type":"server_tool_call","id":"^s","name":"web_search","args":{"query":"q~"}},{"type":"server_tool_result","tool_call_id":"^s","output":"LONG"},{"type":"text","text":"they ~ did"}]},{"type":"human","content":"thank ~ you"}]`,
	},
	"agents-api": {
		"[" + envelopeOf("text", "user", `"please ~ look"`, `{}`, `{}`) + "]",
		"[" + envelopeOf("text", "user", `[{"type":"text","text":"at ~ this"},{"type":"image_url","image_url":{"url":"https://example.com/~.png"}}]`, `{}`, `{"attachment":"a~"}`) + "," + envelopeOf("text", "assistant", `"I ~ see"`, `{}`, `{}`) + "]",
		"[" + envelopeOf("tool_call", "assistant", `""`, `{"tool_name":"read","parameters":{"path":"a~"},"turn":1}`, `{}`) + "," + envelopeOf("tool_result", "user", `"found ~ it"`, `{"success":true,"tool_name":"read","result":{"found":"as ~ data","n":"#"}}`, `{"timestamp":"2026 ~"}`) + "]",
		"[" + envelopeOf("tool_call", "assistant", `"Calling ~ it"`, `{"tool_name":"get_consent","parameters":{"path":"a~"},"turn":1}`, `{"tool_call_id":"^c"}`) + "," + envelopeOf("tool_call", "assistant", `""`, `{"tool_name":"list_orders","parameters":{"n":"b~"},"turn":1}`, `{"tool_call_id":"^d"}`) + "," + envelopeOf("tool_result", "user", `"LONG"`, `{"success":true,"tool_name":"get_consent","media":[{"type":"image","url":"https://example.com/~.png"}]}`, `{"tool_call_id":"^c"}`) + "," + envelopeOf("tool_result", "user", `""`, `{"success":false,"tool_name":"list_orders","error":"it ~ failed","result":null}`, `{"tool_call_id":"^d"}`) + "]",
		"[" + envelopeOf("tool_call", "assistant", `""`, `{"tool_name":"read","parameters":{"path":"a~"},"turn":1}`, `{}`) + "," + envelopeOf("tool_call", "assistant", `""`, `{"tool_name":"list_orders","parameters":{"path":"a~"},"turn":1}`, `{}`) + "," + envelopeOf("tool_result", "user", `""`, `{"success":true,"tool_name":"read","result":{"found":"as~data"}}`, `{}`) + "," + envelopeOf("tool_result", "user", `"two ~ orders"`, `{"success":true,"tool_name":"list_orders","result":["other ~ data"]}`, `{}`) + "]",
	},
	"openai-agents": {
		`[{"role":"user","content":"please ~ look"}]`,
		`[{"type":"message","role":"user","content":[{"type":"input_text","text":"at ~ this"},{"type":"input_image","image":"https://example.com/~.png"}]},{"type":"message","role":"assistant","status":"completed","id":"^msg_1","content":[{"type":"output_text","text":"I ~ see","providerData":{"k":"v~"}}]}]`,
		`[{"type":"reasoning","id":"^rs_1","content":[],"providerData":{"encrypted":"c2ln~"}},{"type":"function_call","id":"^fc_1","callId":"^c","name":"read","arguments":"{\"path\":\"a~\"}","status":"completed","providerData":{"k":"v~"}},{"type":"function_call_result","callId":"^c","name":"read","status":"completed","output":{"type":"text","text":"found ~ it"},"providerData":{"k":"v~"}}]`,
		`[{"type":"function_call","callId":"^c","name":"read","arguments":"{\"path\":\"a~\"}"},{"type":"function_call","callId":"^d","name":"list_orders","arguments":"{\"n\":\"b~\"}"},{"type":"function_call_result","callId":"^c","name":"read","status":"completed","output":[{"type":"input_text","text":"LONG"},{"type":"input_image","image":"https://example.com/~.png"}]},{"type":"function_call_result","callId":"^d","name":"list_orders","status":"completed","output":"two ~ orders"}]`,
		`[{"type":"hosted_tool_call","id":"^h","name":"code_interpreter_call","arguments":"print~","status":"completed","output":"LONG"},{"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"it ~ ran"},{"type":"image","image":"iVBO~"}]},{"role":"user","content":"thank ~ you"}]`,
	},
	"opencode": {
		`[{"info":{"id":"#n","sessionID":"s","role":"user","time":{"created":"#"}},"parts":[{"id":"^p1","type":"text","text":"please ~ look"}]}]`,
		`[{"info":{"id":"#n","sessionID":"s","role":"user","time":{"created":"#"},"system":"be ~ brief"},"parts":[{"id":"^p1","type":"file","mime":"image/png","url":"https://example.com/~.png"},{"id":"^p2","type":"text","text":"at ~ this"}]},{"info":{"id":"#n","sessionID":"s","role":"assistant","time":{"created":"#"},"cost":"#"},"parts":[{"type":"step-start"},{"type":"reasoning","text":"","metadata":{"signature":"c2ln~"}},{"type":"text","text":"I ~ see"},{"type":"step-finish","tokens":{"input":"#"}}]}]`,
		`[{"info":{"id":"#n","sessionID":"s","role":"assistant","time":{"created":"#"}},"parts":[{"id":"^p3","type":"tool","callID":"^c","tool":"read","state":{"status":"completed","input":{"path":"a~"},"output":"LONG","title":"a ~ title","metadata":{"preview":"p ~ p"},"time":{"start":"#","end":"#"},"attachments":[{"type":"file","mime":"image/png","url":"data:image/png;base64,iVBO~"}]}}]}]`,
		`[{"info":{"id":"#n","sessionID":"s","role":"assistant","time":{"created":"#"}},"parts":[{"id":"^p4","type":"tool","callID":"^c","tool":"read","state":{"status":"running","input":{"path":"a~"},"title":"a ~ title","metadata":{"output":"so ~ far"},"time":{"start":"#","seen":"#"}}},{"id":"^p5","type":"tool","callID":"^d","tool":"list_orders","state":{"status":"error","input":{"n":"#"},"error":"it ~ failed","time":{"start":"#","end":"#"}}}]},{"info":{"id":"#n","sessionID":"s","role":"user","time":{"created":"#"}},"parts":[{"type":"text","text":"go ~ on"}]}]`,
	},
	"sharegpt": {
		`[{"from":"human","value":"please ~ look"}]`,
		`[{"from":"gpt","value":"I ~ see","weight":"#"}]`,
		`[{"from":"function_call","value":"{\"name\":\"read\",\"arguments\":{\"path\":\"a~\"}}","weight":"#"},{"from":"observation","value":"found ~ it","note":"a ~ note"}]`,
		`[{"from":"gpt","value":"so ~ <tool_call>{\"name\":\"read\"}</tool_call>"},{"from":"tool","value":"LONG"},{"from":"gpt","value":"it ~ is"}]`,
	},
}

// makeDamaged makes a document of a form. Three in four are damaged.
func makeDamaged(f form, round, seed uint64) *node {
	rnd := rand.New(rand.NewPCG(seed, 23))
	d := damager{mutator: mutator{Rand: rnd, root: f.make(rnd, 5)}}
	if round%4 != 0 {
		for range 1 + rnd.IntN(3) {
			d.damage()
		}
	}
	fill(d.root, rnd)
	if rnd.IntN(3) == 0 { // an exact copy, ids and markers and all
		d.repeatElement()
	}
	return d.root
}
