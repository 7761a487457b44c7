package histories

import "strings"

// inBlocks writes messages whose content is a list of blocks, for dialects that keep calls
// and results among them.
func inBlocks(user, model, member string) func(*mixer, speaker, []string, []string) []string {
	return func(_ *mixer, by speaker, blocks, calls []string) []string {
		role := user
		if by == modelSpeaker {
			role = model
		}
		all := append(blocks, calls...)
		if len(all) == 0 {
			return nil
		}
		return []string{`{"role":"` + role + `","` + member + `":[` + strings.Join(all, ",") + `]}`}
	}
}

// modelSpeaker is the speaker of the model's turns, for functions with a parameter called
// model.
const modelSpeaker = model

func anthropicMix() *mixture {
	contents := []string{
		`"$T"`,
		`[{"type":"text","text":"$T"}]`,
		`[{"type":"text","text":"$T"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"$P"}}]`,
		`[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"$T"},"title":"$T","context":"$T"},{"type":"text","text":"$T"}]`,
		`[{"type":"search_result","source":"https://example.com/$U","title":"$T","content":[{"type":"text","text":"$T"}]}]`,
		`[{"type":"tool_reference","tool_name":"Later"},{"type":"text","text":"$T"}]`,
		`[{"type":"text","text":"$T"},{"type":"browser_state","tabs":[{"tab_id":"$U","title":"$T","url":"https://example.com","active":true}]}]`,
	}
	var results []string
	for _, c := range contents {
		results = append(results, `{"type":"tool_result","tool_use_id":"$I","content":`+c+`}`)
	}
	results = append(results,
		`{"type":"tool_result","tool_use_id":"$I"}`,
		`{"type":"tool_result","tool_use_id":"$I","content":"$T","is_error":true}`,
		`{"type":"tool_result","tool_use_id":"$I","content":"$T","cache_control":{"type":"ephemeral"}}`)
	tools := `"tools":[{"name":"Read","description":"$T","input_schema":{"type":"object","properties":{"path":{"type":"string","description":"$T"}}}},` +
		`{"name":"Later","description":"$T","input_schema":{"type":"object"},"defer_loading":true},{"name":"Gone","description":"$T","input_schema":{"type":"object"}},` +
		`{"type":"advisor_20260301","name":"advisor","model":"claude-fable-5"},` +
		`{"type":"web_search_20250305","name":"web_search"},{"type":"web_fetch_20250910","name":"web_fetch"},` +
		`{"type":"code_execution_20250825","name":"code_execution"},{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}]`
	return &mixture{
		heads: []string{
			`{"model":"claude-opus-4-6","max_tokens":1024,"system":"$T",` + tools + `,"mcp_servers":[{"type":"url","url":"https://example.com","name":"docs"}],"messages":"$M"}`,
			`{"model":"claude-sonnet-4-5","max_tokens":1024,"system":[{"type":"text","text":"$T"}],` + tools + `,"messages":"$M"}`,
			`{"model":"claude-opus-4-8","max_tokens":1024,` + tools + `,"messages":"$M","metadata":{"user_id":"$T"}}`,
		},
		user: []string{
			`{"type":"text","text":"$T"}`, `{"type":"text","text":"$T"}`,
			`{"type":"text","text":"$T","cache_control":{"type":"ephemeral"}}`,
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"$P"}}`,
			`{"type":"image","source":{"type":"url","url":"https://example.com/$U.png"}}`,
			`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"$T"},"title":"$T"}`,
			`{"type":"document","source":{"type":"content","content":[{"type":"text","text":"$T"}]},"context":"$T"}`,
			`{"type":"document","source":{"type":"file","file_id":"file_$U"}}`,
			`{"type":"search_result","source":"https://example.com/$U","title":"$T","content":[{"type":"text","text":"$T"}],"citations":{"enabled":false}}`,
			`{"type":"container_upload","file_id":"file_$U"}`,
		},
		says: []string{
			`{"type":"text","text":"$T"}`, `{"type":"text","text":"$T"}`,
			`{"type":"text","text":"$T","citations":[{"type":"char_location","cited_text":"$T","document_index":0,"document_title":"$T","start_char_index":0,"end_char_index":3}]}`,
			`{"type":"thinking","thinking":"$T","signature":"$S"},{"type":"text","text":"$T"}`,
			`{"type":"compaction","content":"$T"},{"type":"text","text":"$T"}`,
			`{"type":"compaction","content":null,"encrypted_content":"$S"},{"type":"text","text":"$T"}`,
			`{"type":"redacted_thinking","data":"$S"},{"type":"text","text":"$T"}`,
			`{"type":"server_tool_use","id":"srvtoolu_$Ua","name":"web_search","input":{"query":"$T"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_$=a","content":[{"type":"web_search_result","url":"https://example.com","title":"$T","encrypted_content":"$S","page_age":"$T"}]}`,
			`{"type":"server_tool_use","id":"srvtoolu_$Ub","name":"web_fetch","input":{"url":"https://example.com"}},{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_$=b","content":{"type":"web_fetch_result","url":"https://example.com","content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":"$T"},"title":"$T"}}}`,
			`{"type":"server_tool_use","id":"srvtoolu_$Uc","name":"bash_code_execution","input":{"command":"$T"}},{"type":"bash_code_execution_tool_result","tool_use_id":"srvtoolu_$=c","content":{"type":"bash_code_execution_result","stdout":"$T","stderr":"$T","return_code":0,"content":[]}}`,
			`{"type":"server_tool_use","id":"srvtoolu_$Ud","name":"tool_search_tool_regex","input":{"query":"$T"}},{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_$=d","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"Later"}]}}`,
			`{"type":"server_tool_use","id":"srvtoolu_$Uf","name":"code_execution","input":{"code":"$T"}},{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_$=f","content":{"type":"code_execution_result","stdout":"$T","stderr":"$T","return_code":0,"content":[{"type":"code_execution_output","file_id":"file_$U"}]}}`,
			`{"type":"server_tool_use","id":"srvtoolu_$Ug","name":"text_editor_code_execution","input":{"command":"view","path":"$T"}},{"type":"text_editor_code_execution_tool_result","tool_use_id":"srvtoolu_$=g","content":{"type":"text_editor_code_execution_view_result","file_type":"text","content":"$T","num_lines":1,"start_line":1,"total_lines":1}}`,
			`{"type":"server_tool_use","id":"srvtoolu_$Uh","name":"advisor","input":{}},{"type":"advisor_tool_result","tool_use_id":"srvtoolu_$=h","content":{"type":"advisor_result","text":"$T"}}`,
			`{"type":"mcp_tool_listing","mcp_server_name":"docs","tools":[{"name":"lookup","description":"$T","input_schema":{"type":"object"}}]}`,
			`{"type":"mcp_tool_use","id":"mcptoolu_$Ue","name":"lookup","server_name":"docs","input":{"q":"$T"}},{"type":"mcp_tool_result","tool_use_id":"mcptoolu_$=e","is_error":false,"content":[{"type":"text","text":"$T"}]}`,
		},
		calls: []mixCall{
			{`{"type":"tool_use","id":"$I","name":"$N","input":$J}`, results},
			{`{"type":"tool_use","id":"$I","name":"$N","input":$J,"cache_control":{"type":"ephemeral"}}`, results[:1]},
		},
		tools: []string{"Read", "Read", "Later", "Inline"}, id: "toolu_$U",
		events: map[string][]string{"claude-opus-4-8": {
			`{"role":"system","content":"$T"}`, `{"role":"system","content":[{"type":"text","text":"$T"}]}`,
			`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"Later"}}]}`,
			`{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"Gone"}},{"type":"text","text":"$T"}]}`,
			`{"role":"assistant","content":[{"type":"text","text":"$T"},{"type":"fallback","from":{"model":"claude-fable-5"},"to":{"model":"claude-opus-4-8"},"trigger":{"type":"refusal","explanation":"$T"}},{"type":"text","text":"$T"}]},{"role":"user","content":"$T"}`,
			`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"Inline","description":"$T","input_schema":{"type":"object"}}}}]}`,
		}},
		write: inBlocks("user", "assistant", "content"),
	}
}

func bedrockMix() *mixture {
	contents := []string{
		`[{"text":"$T"}]`, `[{"json":{"rows":["$T"],"note":"$T"}}]`,
		`[{"text":"$T"},{"image":{"format":"png","source":{"bytes":"$P"}}}]`,
		`[{"document":{"format":"txt","name":"notes $U","source":{"text":"$T"}}},{"text":"$T"}]`,
		`[{"searchResult":{"source":"https://example.com","title":"$T","content":[{"text":"$T"}],"citations":{"enabled":true}}}]`,
		`[{"video":{"format":"mp4","source":{"s3Location":{"uri":"s3://bucket/$U.mp4"}}}}]`,
	}
	var results []string
	for _, c := range contents {
		results = append(results, `{"toolResult":{"toolUseId":"$I","content":`+c+`}}`, `{"toolResult":{"toolUseId":"$I","content":`+c+`,"status":"error"}}`)
	}
	tools := `"toolConfig":{"tools":[{"toolSpec":{"name":"Read","description":"$T","inputSchema":{"json":{"type":"object"}}}},{"toolSpec":{"name":"Grep","description":"$T","inputSchema":{"json":{"type":"object"}}}},{"toolSpec":{"name":"Gone","description":"$T","inputSchema":{"json":{"type":"object"}}}},{"cachePoint":{"type":"default"}}]}`
	return &mixture{
		heads: []string{
			`{"modelId":"us.anthropic.claude-sonnet-4-5-20250929-v1:0","system":[{"text":"$T"}],"messages":"$M",` + tools + `,"inferenceConfig":{"maxTokens":100}}`,
			`{"modelId":"us.anthropic.claude-opus-4-6-v1:0","messages":"$M",` + tools + `,"requestMetadata":{"note":"$T"}}`,
			`{"modelId":"us.anthropic.claude-opus-4-8-v1:0","messages":"$M",` + tools + `}`,
			`{"modelId":"us.amazon.nova-pro-v1:0","messages":"$M",` + tools + `}`,
		},
		user: []string{
			`{"text":"$T"}`, `{"text":"$T"}`, `{"text":"$T"},{"cachePoint":{"type":"default"}}`,
			`{"image":{"format":"png","source":{"bytes":"$P"}}},{"text":"$T"}`,
			`{"document":{"format":"txt","name":"notes $U","source":{"text":"$T"}}},{"text":"$T"}`,
			`{"audio":{"format":"wav","source":{"bytes":"$P"}}},{"text":"$T"}`,
			`{"guardContent":{"text":{"text":"$T","qualifiers":["query"]}}},{"text":"$T"}`,
			`{"text":"$T"},{"searchResult":{"source":"https://example.com","title":"$T","content":[{"text":"$T"}],"citations":{"enabled":true}}}`,
		},
		says: []string{
			`{"text":"$T"}`, `{"text":"$T"}`,
			`{"reasoningContent":{"reasoningText":{"text":"$T","signature":"$S"}}},{"text":"$T"}`,
			`{"citationsContent":{"content":[{"text":"$T"}],"citations":[{"title":"$T","sourceContent":[{"text":"$T"}],"location":{"documentChar":{"documentIndex":0,"start":0,"end":1}}}]}}`,
		},
		calls: []mixCall{{`{"toolUse":{"toolUseId":"$I","name":"$N","input":$J}}`, results}},
		tools: []string{"Read", "Grep"}, id: "tooluse_$U",
		events: map[string][]string{"claude-opus-4-8": {
			`{"role":"system","content":[{"toolAddition":{"tool":{"name":"Grep"}}},{"text":"$T"}]}`,
			`{"role":"system","content":[{"toolRemoval":{"tool":{"name":"Gone"}}},{"text":"$T"}]}`,
		}},
		write: inBlocks("user", "assistant", "content"),
	}
}

func geminiMix() *mixture {
	results := []string{
		`{"functionResponse":{"id":"$I","name":"$N","response":{"output":"$T"}}}`,
		`{"functionResponse":{"id":"$I","name":"$N","response":{"error":"$T"}}}`,
		`{"functionResponse":{"id":"$I","name":"$N","response":{"output":{"rows":["$T","$T"],"count":2}}}}`,
		`{"functionResponse":{"id":"$I","name":"$N","response":{"output":"$T"},"parts":[{"inlineData":{"mimeType":"image/png","data":"$P"}}]}}`,
		`{"functionResponse":{"id":"$I","name":"$N","response":{"output":"$T"},"scheduling":"WHEN_IDLE"}}`,
		`{"functionResponse":{"id":"$I","name":"$N","response":{"output":"$T"},"willContinue":true}},{"functionResponse":{"id":"$I","name":"$N","response":{"output":"$T"},"willContinue":false}}`,
	}
	tools := `"tools":[{"functionDeclarations":[{"name":"Read","behavior":"NON_BLOCKING","description":"$T","parameters":{"type":"object"}},{"name":"Grep","behavior":"NON_BLOCKING","description":"$T","parameters":{"type":"object"}}]}]`
	return &mixture{
		heads: []string{
			`{"model":"models/gemini-3-pro-preview","systemInstruction":{"parts":[{"text":"$T"}]},"contents":"$M",` + tools + `}`,
			`{"model":"models/gemini-2.5-flash","contents":"$M",` + tools + `,"generationConfig":{"temperature":1.0}}`,
		},
		user: []string{
			`{"text":"$T"}`, `{"text":"$T"}`,
			`{"text":"$T"},{"inlineData":{"mimeType":"image/png","data":"$P"}}`,
			`{"text":"$T"},{"fileData":{"mimeType":"application/pdf","fileUri":"https://example.com/files/$U"}}`,
			`{"text":"$T"},{"fileData":{"mimeType":"video/mp4","fileUri":"https://example.com/files/$U"},"videoMetadata":{"startOffset":"1s","endOffset":"2s"},"mediaProcessing":"STATIC"}`,
			`{"inlineData":{"mimeType":"audio/wav","data":"$P"},"audioTranscription":{"text":"$T","finished":true},"speechMetadata":{"speaker":"$T"},"partMetadata":{"note":"$T"}},{"text":"$T"}`,
			`{"text":"$T"},{"inlineData":{"mimeType":"text/plain","data":"$P","displayName":"$T"},"mediaResolution":{"level":"MEDIA_RESOLUTION_LOW"}}`,
		},
		says: []string{
			`{"text":"$T"}`, `{"text":"$T","thoughtSignature":"$S"}`, `{"text":"$T","thought":true},{"text":"$T"}`,
			`{"toolCall":{"id":"tc-$Ua","toolType":"GOOGLE_SEARCH_WEB","args":{"query":"$T"}}},{"toolResponse":{"id":"tc-$=a","toolType":"GOOGLE_SEARCH_WEB","response":{"output":"$T"}}},{"text":"$T"}`,
			`{"executableCode":{"language":"PYTHON","code":"$T"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"$T"}},{"text":"$T"}`,
		},
		calls: []mixCall{{`{"functionCall":{"id":"$I","name":"$N","args":$J},"thoughtSignature":"$S"}`, results}},
		tools: []string{"Read", "Grep"}, id: "fc-$U",
		write: inBlocks("user", "model", "parts"),
	}
}
