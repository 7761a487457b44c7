package histories

import "strings"

func chatMix() *mixture {
	m := &mixture{
		heads: []string{
			`{"model":"gpt-5.2","messages":"$M","tools":[{"type":"function","function":{"name":"Read","description":"$T","parameters":{"type":"object"}}},{"type":"custom","custom":{"name":"Patch","description":"$T"}}],"functions":[{"name":"Read","description":"$T","parameters":{"type":"object"}}],"metadata":{"note":"$T"}}`,
			`{"model":"gpt-4.1","messages":"$M","tools":[{"type":"function","function":{"name":"Read","description":"$T","parameters":{"type":"object"}}}],"stream":true,"user":"$T"}`,
		},
		user: []string{
			`{"role":"user","content":"$T"}`, `{"role":"user","content":"$T","name":"ann"}`,
			`{"role":"user","content":[{"type":"text","text":"$T"},{"type":"image_url","image_url":{"url":"data:image/png;base64,$P","detail":"low"}}]}`,
			`{"role":"user","content":[{"type":"file","file":{"filename":"$T","file_data":"data:application/pdf;base64,$P"}},{"type":"text","text":"$T"}]}`,
			`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"$P","format":"wav"}},{"type":"text","text":"$T"}]}`,
			`{"role":"system","content":"$T"},{"role":"user","content":"$T"}`,
			`{"role":"developer","content":[{"type":"text","text":"$T"}]},{"role":"user","content":"$T"}`,
		},
		says: []string{
			`"content":"$T"`, `"content":"$T"`, `"content":[{"type":"text","text":"$T"}]`, `"content":null,"refusal":"$T"`, `"content":"","refusal":"$T"`,
			`"content":[{"type":"refusal","refusal":"$T"}]`, `"content":[{"type":"text","text":"$T"},{"type":"text","text":"$T"}],"name":"helper"`,
			`"content":"$T","annotations":[{"type":"url_citation","url_citation":{"title":"$T","url":"https://example.com","start_index":0,"end_index":1}}]`,
			`"content":null,"audio":{"id":"audio_$U"}`, `"content":null,"audio":{"id":"audio_$U","transcript":"$T"}`, `"content":"$T","refusal":"$T"`,
			`"content":"$T","reasoning":"$T","reasoning_details":[{"type":"reasoning.text","text":"$T"}]`,
		},
		calls: []mixCall{
			{`{"id":"$I","type":"function","function":{"name":"$N","arguments":"$Q"}}`, []string{
				`{"role":"tool","tool_call_id":"$I","content":"$T"}`, `{"role":"tool","tool_call_id":"$I","content":[{"type":"text","text":"$T"},{"type":"text","text":"$T"}]}`,
			}},
			{`{"id":"$I","type":"custom","custom":{"name":"Patch","input":"$T"}}`, []string{`{"role":"tool","tool_call_id":"$I","content":"$T"}`}},
			{`"function_call":{"name":"$N","arguments":"$Q"}`, []string{`{"role":"function","name":"$N","content":"$T"}`}},
		},
		tools: []string{"Read", "Read", "Later"}, id: "call_$U", alone: true,
	}
	m.write = func(g *mixer, by speaker, blocks, calls []string) []string {
		if by != modelSpeaker {
			return blocks
		}
		var all []string
		for i, b := range blocks {
			if i < len(blocks)-1 || len(calls) == 0 {
				all = append(all, `{"role":"assistant",`+b+`}`)
			}
		}
		if len(calls) == 0 {
			return all
		}
		says := `"content":null`
		if len(blocks) > 0 {
			says = blocks[len(blocks)-1]
		}
		if strings.HasPrefix(calls[0], `"function_call"`) {
			return append(all, `{"role":"assistant",`+says+`,`+calls[0]+`}`)
		}
		return append(all, `{"role":"assistant",`+says+`,"tool_calls":[`+strings.Join(calls, ",")+`]}`)
	}
	return m
}

func responsesMix() *mixture {
	outputs := []string{
		`"$T"`, `[{"type":"input_text","text":"$T"}]`,
		`[{"type":"input_text","text":"$T"},{"type":"input_image","image_url":"data:image/png;base64,$P","detail":"low"}]`,
		`[{"type":"input_file","filename":"$T","file_data":"data:application/pdf;base64,$P"}]`,
	}
	var functions, customs []string
	for _, o := range outputs {
		functions = append(functions, `{"type":"function_call_output","call_id":"$I","output":`+o+`}`)
		customs = append(customs, `{"type":"custom_tool_call_output","call_id":"$I","output":`+o+`}`)
	}
	return &mixture{
		heads: []string{
			`{"model":"gpt-5.2","instructions":"$T","input":"$M","store":false,"tools":[{"type":"function","name":"Read","description":"$T","parameters":{"type":"object"}},{"type":"custom","name":"Patch","description":"$T"},{"type":"web_search"},{"type":"computer_use_preview","display_width":1,"display_height":1,"environment":"linux"},{"type":"local_shell"},{"type":"shell"},{"type":"apply_patch"}]}`,
			`{"model":"gpt-5.2-codex","input":"$M","store":false,"include":["reasoning.encrypted_content"],"metadata":{"note":"$T"}}`,
		},
		user: []string{
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"$T"}]}`, `{"role":"user","content":"$T"}`,
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"$T"},{"type":"input_image","image_url":"data:image/png;base64,$P","detail":"low"}]}`,
			`{"type":"message","role":"user","content":[{"type":"input_file","filename":"$T","file_data":"data:application/pdf;base64,$P"},{"type":"input_text","text":"$T"}]}`,
			`{"type":"message","role":"developer","content":[{"type":"input_text","text":"$T"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"$T"}]}`,
			`{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"Later","description":"$T","parameters":{"type":"object"}}]},{"role":"user","content":"$T"}`,
			`{"type":"configuration_update","reasoning":{"effort":"low"},"text":{"format":{"type":"json_schema","name":"answer","description":"$T","schema":{"type":"object"}}}},{"role":"user","content":"$T"}`,
			`{"role":"user","content":"$T"},{"type":"compaction_trigger"}`,
			`{"type":"mcp_approval_request","id":"mcpr_$Ua","name":"drop","server_label":"db","arguments":"$Q"},{"type":"mcp_approval_response","approval_request_id":"mcpr_$=a","approve":false,"reason":"$T"},{"role":"user","content":"$T"}`,
		},
		says: []string{
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"$T","annotations":[]}]}`,
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"$T","annotations":[{"type":"url_citation","title":"$T","url":"https://example.com","start_index":0,"end_index":1}],"logprobs":[]}]}`,
			`{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"$T"}]}`,
			`{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"$T","annotations":[]}]}`,
			`{"type":"reasoning","id":"rs_$U","summary":[{"type":"summary_text","text":"$T"}],"encrypted_content":"$S"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"$T","annotations":[]}]}`,
			`{"type":"compaction","id":"cmp_$U","encrypted_content":"$S"}`,
			`{"type":"web_search_call","id":"ws_$U","status":"completed","action":{"type":"search","query":"$T"}}`,
			`{"type":"file_search_call","id":"fs_$U","status":"completed","queries":["$T"],"results":[{"file_id":"file-1","filename":"$T","text":"$T","score":0.5}]}`,
			`{"type":"code_interpreter_call","id":"ci_$U","status":"completed","container_id":"cntr_1","code":"$T","outputs":[{"type":"logs","logs":"$T"}]}`,
			`{"type":"image_generation_call","id":"ig_$U","status":"completed","result":"$P"}`,
			`{"type":"mcp_list_tools","id":"mcpl_$U","server_label":"db","tools":[{"name":"drop","description":"$T","input_schema":{"type":"object"}}]}`,
			`{"type":"mcp_call","id":"mcp_$U","server_label":"db","name":"drop","arguments":"$Q","output":"$T"}`,
			`{"type":"multi_agent_call","id":"mac_$Ua","call_id":"ma_$=a","action":"spawn_agent","arguments":"$Q"},{"type":"multi_agent_call_output","call_id":"ma_$=a","action":"spawn_agent","output":[{"type":"output_text","text":"$T"}]}`,
			`{"type":"agent_message","author":"$T","recipient":"root","content":[{"type":"input_text","text":"$T"},{"type":"encrypted_content","encrypted_content":"$S"}]}`,
		},
		calls: []mixCall{
			{`{"type":"function_call","call_id":"$I","name":"$N","arguments":"$Q"}`, functions},
			{`{"type":"function_call","call_id":"$I","name":"$N","arguments":"$Q"}`, functions},
			{`{"type":"custom_tool_call","call_id":"$I","name":"Patch","input":"$T"}`, customs},
			{`{"type":"local_shell_call","id":"lsh_$U","call_id":"$I","status":"completed","action":{"type":"exec","command":["echo","$T"],"env":{}}}`, []string{`{"type":"local_shell_call_output","call_id":"$I","output":"$T"}`}},
			{`{"type":"shell_call","call_id":"$I","action":{"commands":["$T"],"timeout_ms":1000}}`, []string{`{"type":"shell_call_output","call_id":"$I","output":[{"stdout":"$T","stderr":"$T","outcome":{"type":"exit","exit_code":0}}]}`}},
			{`{"type":"apply_patch_call","call_id":"$I","status":"completed","operation":{"type":"update_file","path":"$T","diff":"$T"}}`, []string{`{"type":"apply_patch_call_output","call_id":"$I","status":"completed","output":"$T"}`}},
			{`{"type":"computer_call","id":"cu_$U","call_id":"$I","status":"completed","action":{"type":"type","text":"$T"},"pending_safety_checks":[]}`, []string{`{"type":"computer_call_output","call_id":"$I","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,$P"}}`}},
			{`{"type":"program","id":"prg_$U","call_id":"$I","code":"$T","fingerprint":"$S"}`, []string{`{"type":"program_output","id":"prgo_$U","call_id":"$I","result":"$T","status":"completed"}`}},
			{`{"type":"tool_search_call","call_id":"$I","execution":"client","status":"completed","arguments":{"query":"$T"}}`, []string{`{"type":"tool_search_output","call_id":"$I","execution":"client","status":"completed","tools":[{"type":"function","name":"Later","description":"$T","defer_loading":true,"parameters":{"type":"object"}}]}`}},
		},
		tools: []string{"Read", "Read", "Later"}, id: "call_$U",
		write: func(_ *mixer, _ speaker, blocks, calls []string) []string { return append(blocks, calls...) },
	}
}
