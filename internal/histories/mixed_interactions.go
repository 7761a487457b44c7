package histories

func interactionsMix() *mixture {
	said := `{"type":"model_output","content":[{"type":"text","text":"$T"}]}`
	served := func(tool, call, result string) string {
		return `{"type":"` + tool + `_call","id":"st$U"` + call + `,"signature":"$S"},{"type":"` + tool + `_result","call_id":"st$="` + result + `,"signature":"$S"},` + said
	}
	var results []string
	for _, r := range []string{
		`"$T"`, `{"output":"$T","lines":[1,2]}`, `[{"type":"text","text":"$T"}]`,
		`[{"type":"text","text":"$T"},{"type":"image","mime_type":"image/png","data":"$P","resolution":"low"}]`,
		`[{"type":"document","mime_type":"application/pdf","data":"$P"}]`, `"$T","is_error":true`,
		`[{"type":"audio","mime_type":"audio/wav","data":"$P"},{"type":"video","uri":"https://example.com/$U","mime_type":"video/mp4"}]`,
	} {
		results = append(results, `{"type":"function_result","call_id":"$I","name":"$N","result":`+r+`}`)
	}
	return &mixture{
		heads: []string{
			`{"model":"gemini-3-flash-preview","system_instruction":"$T","input":"$M","store":false,"tools":[{"type":"function","name":"Read","description":"$T","parameters":{"type":"object"}},{"type":"google_search"},{"type":"code_execution"},{"type":"url_context"},{"type":"mcp_server","name":"db","url":"https://example.com/mcp"}],"generation_config":{"thinking_level":"high"}}`,
			`{"model":"gemini-3.5-flash","input":"$M","store":false,"labels":{"note":"$T"},"response_format":{"type":"text","mime_type":"application/json","schema":{"type":"object"}}}`,
		},
		user: []string{
			`{"type":"user_input","content":[{"type":"text","text":"$T"}]}`, `{"type":"user_input","content":[{"type":"text","text":"$T"},{"type":"text","text":"$T"}]}`,
			`{"type":"user_input","content":[{"type":"text","text":"$T"},{"type":"image","mime_type":"image/png","data":"$P","resolution":"low"}]}`,
			`{"type":"user_input","content":[{"type":"document","mime_type":"application/pdf","data":"$P"},{"type":"text","text":"$T"}]}`,
			`{"type":"user_input","content":[{"type":"audio","mime_type":"audio/wav","data":"$P"},{"type":"video","uri":"https://example.com/$U","mime_type":"video/mp4"},{"type":"text","text":"$T"}]}`,
			`{"type":"text","text":"$T"}`, `{"type":"image","mime_type":"image/png","data":"$P"},{"type":"text","text":"$T"}`,
		},
		says: []string{
			said, said,
			`{"type":"model_output","content":[{"type":"text","text":"$T","annotations":[{"type":"url_citation","title":"$T","url":"https://example.com","start_index":0,"end_index":1}]}]}`,
			`{"type":"model_output","content":[{"type":"text","text":"$T"},{"type":"image","mime_type":"image/png","data":"$P"}]}`,
			`{"type":"model_output","content":[{"type":"text","text":"$T"}],"error":{"code":8,"message":"$T"}}`,
			`{"type":"thought","signature":"$S","summary":[{"type":"text","text":"$T"}]},` + said,
			served("code_execution", `,"arguments":{"code":"$T","language":"python"}`, `,"result":"$T","is_error":false`),
			served("url_context", `,"arguments":{"urls":["https://example.com/$T"]}`, `,"result":[{"url":"https://example.com/$T","status":"success"}]`),
			served("google_search", `,"search_type":"web_search","arguments":{"queries":["$T"]}`, `,"result":[{"search_suggestions":"$T"}]`),
			served("google_maps", `,"arguments":{"queries":["$T"]}`, `,"result":[{"places":[{"name":"$T","url":"https://example.com/$T"}]}]`),
			served("file_search", ``, ``), served("retrieval", `,"arguments":{"queries":["$T"]}`, `,"is_error":false`), served("processing", ``, ``),
			`{"type":"mcp_server_tool_call","id":"st$U","server_name":"db","name":"query","arguments":$J},{"type":"mcp_server_tool_result","call_id":"st$=","server_name":"db","name":"query","result":[{"type":"text","text":"$T"}]},` + said,
		},
		calls: []mixCall{{`{"type":"function_call","id":"$I","name":"$N","arguments":$J}`, results}},
		tools: []string{"Read", "Grep"}, id: "call_$U",
		write: func(g *mixer, _ speaker, blocks, calls []string) []string {
			if len(calls) > 0 { // signed for
				blocks = append([]string{g.fill(`{"type":"thought","signature":"$S","summary":[{"type":"text","text":"$T"}]}`, "", "")}, blocks...)
			}
			return append(blocks, calls...)
		},
	}
}
