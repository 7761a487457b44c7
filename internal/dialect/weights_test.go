package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/transcript"
)

// blockSamples has a block of each type, with the strings that the official libraries give it. A type
// that needs none of them has a row without members.
var blockSamples = map[Dialect]string{
	Anthropic: `[{"type":"text","text":"t","citations":[{"type":"char_location","cited_text":"c","document_title":"d"}]},
		{"type":"tool_use","id":"a","name":"f","input":{"q":"x"},"caller":{"type":"direct"},"tomorrow":"x"},
		{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"r"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"d"}},{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"x"}]},{"type":"tool_reference","tool_name":"f"}]},
		{"type":"tool_result","tool_use_id":"a","content":"r","tomorrow":"x"},
		{"type":"thinking","thinking":"t","signature":"s"},{"type":"thinking","thinking":"","signature":"s"},{"type":"redacted_thinking","data":"d"},
		{"type":"image","source":{"type":"base64","media_type":"image/png","data":"d"}},{"type":"image","source":{"type":"url","url":"u"}},
		{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"},"title":"t","context":"c"},{"type":"document","source":{"type":"content","content":[{"type":"text","text":"x"}]}},
		{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"x"}]},{"type":"container_upload","file_id":"f"},
		{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}},
		{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"u","title":"t","encrypted_content":"e","page_age":"p"}]},
		{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_fetch_result","url":"u","content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"},"title":"t"},"retrieved_at":"r"}},
		{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"code_execution_result","stdout":"o","stderr":"e","return_code":0,"content":[{"type":"code_execution_output","file_id":"f"}]}},
		{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"encrypted_code_execution_result","encrypted_stdout":"o","stderr":"e","return_code":0,"content":[]}},
		{"type":"bash_code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"bash_code_execution_result","stdout":"o","stderr":"e","return_code":0,"content":[]}},
		{"type":"text_editor_code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"text_editor_code_execution_view_result","content":"c","file_type":"text"}},
		{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"f"}]}},
		{"type":"advisor_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"advisor_result","text":"t"}},
		{"type":"mcp_tool_use","id":"m","name":"f","server_name":"s","input":{"q":"x"}},{"type":"mcp_tool_result","tool_use_id":"m","content":[{"type":"text","text":"t"}]},
		{"type":"compaction","content":"c","encrypted_content":"e"},{"type":"compaction","content":"c","signature":"s"},
		{"type":"fallback","from":{"model":"m"},"to":{"model":"n"},"trigger":{"note":"x"}},{"type":"mcp_tool_listing","mcp_server_name":"s","tools":[{"name":"f","description":"d"}]},
		{"type":"tool_addition","tool":{"name":"f","definition":{"name":"f","description":"d"}}},{"type":"tool_removal","tool":{"name":"f"}},
		{"type":"mid_conv_system","content":[{"type":"text","text":"t"}]},{"type":"tool_reference","tool_name":"f"},{"type":"browser_state","tabs":[{"title":"t","url":"u"}]},{"type":"context","text":"t"},{"type":"advisor","text":"t"},{"type":"tomorrow","payload":"x"}]`,
	OpenAIChat: `[{"type":"text","text":"t"},{"type":"refusal","refusal":"r"},{"type":"image_url","image_url":{"url":"u"}},{"type":"input_audio","input_audio":{"data":"d","format":"wav"}},
		{"type":"file","file":{"file_data":"d","filename":"n"}},{"type":"image","image_url":"u"},{"type":"document_url","document_url":"u","document_name":"n"},{"type":"video_url","video_url":{"url":"u"}},{"type":"tomorrow","payload":"x"}]`,
	OpenAIResponses: `[{"type":"function_call","call_id":"c","name":"f","arguments":"a","status":"completed","tomorrow":"x"},{"type":"function_call_output","call_id":"c","output":"o"},
		{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"t"},{"type":"input_image","image_url":"u"},{"type":"input_file","file_data":"d","filename":"n"}]},
		{"type":"message","role":"user","content":"c"},{"role":"user","content":[{"type":"input_text","text":"t"},{"type":"input_image","image_url":"u"},{"type":"input_file","file_data":"d"},{"type":"input_audio","input_audio":{"data":"d"}},{"type":"text","text":"t"},{"type":"image_url","image_url":"u"}]},
		{"role":"assistant","content":[{"type":"output_text","text":"t","annotations":[{"type":"url_citation","title":"t","url":"u"}]},{"type":"refusal","refusal":"r"},{"type":"summary_text","text":"t"},{"type":"reasoning_text","text":"t"}]},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"t"}],"content":[{"type":"reasoning_text","text":"t"}],"encrypted_content":"e"},
		{"type":"custom_tool_call","call_id":"c","name":"f","input":"i"},{"type":"custom_tool_call_output","call_id":"c","output":"o"},
		{"type":"local_shell_call","id":"l","call_id":"c","action":{"type":"exec","command":["x"],"env":{"A":"b"},"working_directory":"w"}},{"type":"local_shell_call_output","id":"l","output":"o"},
		{"type":"shell_call","call_id":"c","action":{"commands":["x"]}},{"type":"shell_call_output","call_id":"c","output":[{"stdout":"o","stderr":"e","outcome":{"type":"exit"}}]},
		{"type":"apply_patch_call","call_id":"c","operation":{"type":"update_file","path":"p","diff":"d"}},{"type":"apply_patch_call_output","call_id":"c","output":"o"},
		{"type":"computer_call","id":"u","call_id":"c","action":{"type":"type","text":"t"},"pending_safety_checks":[{"id":"i","message":"m"}]},{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"u"},"acknowledged_safety_checks":[{"id":"i","message":"m"}]},
		{"type":"tool_search_call","call_id":"c","execution":"client","arguments":{"q":"x"}},{"type":"tool_search_output","call_id":"c","execution":"client","tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"}}]},
		{"type":"program","call_id":"c","code":"x","fingerprint":"p"},{"type":"program_output","call_id":"c","result":"r"},
		{"type":"mcp_approval_request","id":"i","name":"f","arguments":"a","server_label":"s"},{"type":"mcp_approval_response","approval_request_id":"i","approve":false,"reason":"r"},
		{"type":"multi_agent_call","call_id":"c","name":"f","arguments":"a"},{"type":"multi_agent_call_output","call_id":"c","output":[{"type":"output_text","text":"t"}]},
		{"type":"web_search_call","id":"ws_1","action":{"type":"search","query":"q","sources":[{"type":"url","url":"u"}]}},{"type":"file_search_call","id":"i","queries":["q"],"results":[{"file_id":"f","text":"t","attributes":{"a":"b"}}]},
		{"type":"code_interpreter_call","id":"i","code":"c","container_id":"k","outputs":[{"type":"logs","logs":"l"},{"type":"image","url":"u"}]},
		{"type":"image_generation_call","id":"i","result":"r","revised_prompt":"p"},{"type":"mcp_call","id":"i","name":"f","server_label":"s","arguments":"a","output":"o","error":"e"},
		{"type":"mcp_list_tools","id":"i","server_label":"s","tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}],"error":"e"},
		{"type":"agent_message","author":"a","recipient":"b","content":[{"type":"input_text","text":"t"},{"type":"encrypted_content","encrypted_content":"e"}]},{"type":"item_reference","id":"i"},
		{"type":"compaction","encrypted_content":"e"},{"type":"compaction_summary","summary":"s","encrypted_content":"e"},{"type":"compaction_trigger"},{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f","description":"d"}]},
		{"type":"configuration_update","reasoning":{"effort":"low"},"text":{"format":{"type":"json_schema","name":"n","description":"d"}}},{"type":"tomorrow","payload":"x"}]`,
	Gemini: `[{"text":"t","thoughtSignature":"s"},{"text":"t","thought":true,"thoughtSignature":"s"},{"functionCall":{"id":"a","name":"f","args":{"q":"x"}},"thoughtSignature":"s"},
		{"functionResponse":{"id":"a","name":"f","response":{"output":"o"},"parts":[{"inlineData":{"mimeType":"image/png","data":"d"}}],"tomorrow":"x"}},
		{"toolCall":{"id":"a","toolType":"t","args":{"q":"x"}}},{"toolResponse":{"id":"a","toolType":"t","response":{"r":"x"}}},{"executableCode":{"code":"c","language":"PYTHON"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"o"}},
		{"inlineData":{"mimeType":"image/png","data":"d"}},{"fileData":{"mimeType":"application/pdf","fileUri":"u"}},{"audioTranscription":{"text":"t"}},{"thought":true},{"thoughtSignature":"s"},
		{"text":"t","partMetadata":{"a":"x"}},{"mediaProcessing":"x"},{"mediaResolution":{"level":"l"}},{"videoMetadata":{"startOffset":"1s"}},{"speechMetadata":{"speaker":"x"}},{"tomorrow":{"payload":"x"}}]`,
	Bedrock: `[{"text":"t"},{"toolUse":{"toolUseId":"a","name":"f","input":{"q":"x"},"tomorrow":"x"}},{"toolResult":{"toolUseId":"a","content":[{"text":"t"},{"json":{"a":"x"}},{"image":{"format":"png","source":{"bytes":"b"}}},{"searchResult":{"source":"s","title":"t","content":[{"text":"x"}]}}],"tomorrow":"x"}},
		{"reasoningContent":{"reasoningText":{"text":"t","signature":"s"}}},{"reasoningContent":{"redactedContent":"r"}},{"cachePoint":{"type":"default"}},{"guardContent":{"text":{"text":"t","qualifiers":["query"]}}},
		{"citationsContent":{"content":[{"text":"t"}],"citations":[{"title":"t"}]}},{"image":{"format":"png","source":{"bytes":"b"}}},{"document":{"format":"txt","name":"n","source":{"text":"t"}}},{"video":{"format":"mp4","source":{"s3Location":{"uri":"u"}}}},{"audio":{"format":"wav","source":{"bytes":"b"}}},
		{"searchResult":{"source":"s","title":"t","content":[{"text":"x"}]}},{"toolAddition":{"tool":{"name":"f"}}},{"toolRemoval":{"tool":{"name":"f"}}},{"json":{"a":"x"}},{"tomorrow":{"payload":"x"}}]`,
	GeminiInteractions: `[{"type":"user_input","content":[{"type":"text","text":"t"},{"type":"image","mime_type":"image/png","data":"d"}]},{"type":"model_output","content":[{"type":"text","text":"t","annotations":[{"type":"url_citation","title":"t"}]}]},
		{"type":"function_call","id":"a","name":"f","arguments":{"q":"x"},"signature":"s"},{"type":"function_result","call_id":"a","name":"f","result":"r","signature":"s"},{"type":"function_result","call_id":"a","name":"f","result":[{"type":"text","text":"t"},{"type":"image","mime_type":"image/png","data":"d"}]},
		{"type":"thought","signature":"s","summary":[{"type":"text","text":"t"}]},{"type":"audio","mime_type":"audio/wav","data":"d"},{"type":"video","uri":"u"},{"type":"document","mime_type":"application/pdf","data":"d"},{"type":"compaction","summary":"s","signature":"x"},{"type":"tomorrow","payload":"x"}SERVED]`,
}

// samplesOf lists the samples of a dialect. The steps of tools that Google runs are alike.
func samplesOf(t *testing.T, d Dialect) (all []any) {
	t.Helper()
	served := ""
	for _, tool := range servedTools {
		served += fmt.Sprintf(`,{"type":"%s_call","id":"a","arguments":{"q":"x"},"signature":"s"},{"type":"%s_result","call_id":"a","result":[{"title":"t","rendered":"r"}],"signature":"s"}`, tool, tool)
	}
	if err := json.Unmarshal([]byte(strings.Replace(blockSamples[d], "SERVED", served, 1)), &all); err != nil {
		t.Fatalf("%s: %v", d, err)
	}
	return all
}

// sampleBodies have room for a block, an item or a step.
var sampleBodies = map[Dialect]string{
	Anthropic: `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[%s]}]}`, OpenAIChat: `{"messages":[{"role":"user","content":[%s]}]}`,
	OpenAIResponses: `{"input":[{"role":"user","content":"q"},%s]}`, Gemini: `{"contents":[{"role":"model","parts":[%s]}]}`,
	Bedrock: `{"messages":[{"role":"assistant","content":[%s]}]}`, GeminiInteractions: `{"input":[{"type":"user_input","content":"q"},%s]}`,
}

// A leafCounter counts a token for four bytes, and notes whether a marked string was given to it as a medium.
type leafCounter struct{ medium bool }

func (*leafCounter) Count(text []byte) int        { return (len(text) + 3) / 4 }
func (*leafCounter) CountJSON(raw []byte) int     { return (len(raw) + 3) / 4 }
func (*leafCounter) Overhead(messages, _ int) int { return 3 * messages }
func (c *leafCounter) Media(_ string, data []byte, _ bool) int {
	c.medium = c.medium || bytes.Contains(data, []byte(leafMark))
	return 258
}

const leafMark = "LONGLEAF"

// TestLongStringsCount: a string of 20 KB at any place of any type of block changes the count in proportion.
// The exceptions are media, which count by what they show, and members that have a reason not to count.
func TestLongStringsCount(t *testing.T) {
	long := strings.Repeat(leafMark+" and ", 20<<10/13)
	for _, d := range Dialects() {
		sampled := map[string]bool{}
		for _, sample := range samplesOf(t, d) {
			if typ, ok := sample.(map[string]any)["type"].(string); ok {
				sampled[typ] = true
			} else {
				for name := range sample.(map[string]any) {
					sampled[name] = true
				}
			}
			before, _ := countSample(t, d, sample)
			eachString(sample, nil, func(path []string, set func(string)) {
				name := path[len(path)-1]
				if name == "type" || name == "role" {
					return
				}
				if n, named := sample.(map[string]any)["type"]; d == OpenAIResponses && named && n == "item_reference" {
					return // the provider has the item, and Pare does not know its size
				}
				set(long)
				after, medium := countSample(t, d, sample)
				set("x")
				if medium || after-before >= len(long)/8 {
					return
				}
				for _, n := range path {
					if memberWeight(n) == uncounted || isToolName(n) || shortNames[n] != "" {
						return
					}
				}
				raw, _ := json.Marshal(sample)
				t.Errorf("%s: %d bytes at %s count as %d tokens in %s", d, len(long), strings.Join(path, "."), after-before, raw)
			})
		}
		for _, row := range grammars[d].types {
			if !sampled[row.name] && row.kind != transcript.Text && row.kind != transcript.Media && partsOnly[row.name] == "" {
				t.Errorf("%s: no sample of %q", d, row.name)
			}
		}
	}
}

// shortNames are members that do not count where a block has nothing else, with the reason.
var shortNames = map[string]string{
	"approval_request_id": "an id",
	"tool":                "the tool of a change, whose name counts with its definition",
}

// partsOnly are rows without a sample, with the reason.
var partsOnly = map[string]string{
	"function": "a call of Chat is an element of a list of its own", "custom": "a call of Chat is an element of a list of its own",
	"content": "of an API that is gone", "transcription": "of an API that is gone", "elicitation_call": "of an API that is gone", "elicitation_result": "of an API that is gone",
	"audio_truncation": "of an API that is gone", "playback_awaiting": "of an API that is gone", "playback_interruption": "of an API that is gone", "playback_complete": "of an API that is gone",
}

// countSample counts a request with a sample, and reports whether the marked string is a medium.
func countSample(t *testing.T, d Dialect, sample any) (int, bool) {
	t.Helper()
	raw, err := json.Marshal(sample)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Parse(fmt.Appendf(nil, sampleBodies[d], raw), Options{Dialect: d})
	if err != nil {
		t.Fatalf("%s: %v: %s", d, err, raw)
	}
	c := new(leafCounter)
	n := 0
	for i := range r.t.Messages() {
		n += r.messageTokens(c, i, 0)
	}
	return n, c.medium
}

// eachString calls f with the path of each string in a value, and a function that sets it.
func eachString(v any, path []string, f func(path []string, set func(string))) {
	visit := func(key string, e any, put func(any)) {
		if _, ok := e.(string); ok {
			f(append(path[:len(path):len(path)], key), func(s string) { put(s) })
			return
		}
		eachString(e, append(path[:len(path):len(path)], key), f)
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			was := e
			visit(k, e, func(s any) {
				if v[k] = s; s == "x" {
					v[k] = was
				}
			})
		}
	case []any:
		for i, e := range v {
			was := e
			visit("0", e, func(s any) {
				if v[i] = s; s == "x" {
					v[i] = was
				}
			})
		}
	}
}
