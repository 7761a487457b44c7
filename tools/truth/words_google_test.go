package truth

func responsesShapes() []*shape {
	const tools = `"tools":[{"type":"function","name":"read","description":"~reads","parameters":{"type":"object"}}]`
	responses := func(name, frame string, turns []string) *shape {
		return of(name, dialectFamily, frame, turns...).at("/v1/responses")
	}
	items := []string{
		`[{"role":"user","content":"~please look"}]`,
		`[{"type":"message","role":"user","content":[{"type":"input_text","text":"~and this"},{"type":"input_image","image_url":"https://example.com/a.png"}]}]`,
		`[{"type":"message","role":"assistant","id":"^msg_1","status":"completed","content":[{"type":"output_text","text":"~I see","annotations":[]}]},{"role":"user","content":"~go on"}]`,
		`[{"type":"function_call","call_id":"^c","name":"read","arguments":"{\"path\":\"a\"}"},{"type":"function_call_output","call_id":"^c","output":"~found it"}]`,
		`[{"type":"function_call","call_id":"^c","name":"read","arguments":"{}"},{"type":"function_call","call_id":"^d","name":"read","arguments":"{}"},{"type":"function_call_output","call_id":"^d","output":[{"type":"input_text","text":"~typed output"}]},{"type":"function_call_output","call_id":"^c","output":"~late"}]`,
		`[{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"~I must not"}]},{"role":"user","content":"~why"}]`,
		`[{"type":"reasoning","id":"^rs_1","summary":[{"type":"summary_text","text":"~what I thought"}],"encrypted_content":"ZW5j"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"~so"}]},{"role":"user","content":"~next"}]`,
		`[{"type":"custom_tool_call","call_id":"^c","name":"patch","input":"~begin the patch"},{"type":"custom_tool_call_output","call_id":"^c","output":"~patched"}]`,
	}
	hosted := []string{
		`[{"role":"user","content":"~do it"}]`,
		`[{"type":"mcp_approval_request","id":"^mcpr_1","name":"send","arguments":"{}","server_label":"srv"},{"type":"mcp_approval_response","approval_request_id":"^mcpr_1","approve":false,"reason":"~I do not trust it"}]`,
		`[{"type":"mcp_approval_request","id":"^mcpr_2","name":"send","arguments":"{}","server_label":"srv"},{"type":"mcp_approval_response","approval_request_id":"^mcpr_2","approve":true},{"type":"mcp_approval_response","approval_request_id":"^mcpr_2","approve":false,"reason":"~no, rather not"}]`,
		`[{"type":"apply_patch_call","call_id":"^c","status":"completed","operation":{"type":"update_file","path":"a.go","diff":"~the diff"}},{"type":"apply_patch_call_output","call_id":"^c","status":"completed","output":"~applied"},{"type":"apply_patch_call_output","call_id":"^c","status":"failed","output":"~applied"}]`,
		`[{"type":"shell_call","call_id":"^c","status":"completed","action":{"commands":["~ls here"]}},{"type":"shell_call_output","call_id":"^c","output":[{"stdout":"~a listing","stderr":"","outcome":{"type":"exit","exit_code":0}}]}]`,
		`[{"type":"computer_call","call_id":"^c","id":"^cu_1","status":"completed","action":{"type":"type","text":"~typed words"},"pending_safety_checks":[]},{"type":"computer_call_output","call_id":"^c","output":{"type":"computer_screenshot","image_url":"https://example.com/s.png"}}]`,
		`[{"type":"web_search_call","id":"^ws_1","status":"completed","action":{"type":"search","query":"~who won"}},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"~they did","annotations":[{"type":"url_citation","url":"https://example.com","title":"~news"}]}]},{"role":"user","content":"~and then"}]`,
		`[{"type":"code_interpreter_call","id":"^ci_1","status":"completed","container_id":"c","code":"~print it","outputs":[{"type":"logs","logs":"~printed"}]},{"role":"user","content":"~again"}]`,
		`[{"type":"mcp_call","id":"^mcp_1","name":"echo","server_label":"srv","arguments":"{}","output":"~echoed"},{"type":"image_generation_call","id":"^ig_1","status":"completed","result":"iVBORw0KGgo="}]`,
		`[{"type":"tool_search_call","call_id":"^c","status":"completed","arguments":{"goal":"~find one"}},{"type":"tool_search_output","call_id":"^c","status":"completed","tools":[{"type":"function","name":"found","description":"~what it does","parameters":{"type":"object"}}]}]`,
	}
	return []*shape{
		responses("openai-responses", `{"model":"gpt-5","instructions":"~be brief","store":false,`+tools+`,"input":["@"]}`, items),
		responses("openai-responses, hosted tools", `{"model":"gpt-5.1","store":false,"input":["@"]}`, hosted),
		responses("openai-responses, one text", `{"model":"gpt-5","instructions":"~be brief","input":"~just this"}`, nil),
		of("openai-responses, bare list", dialectFamily, `["@"]`, items...),
	}
}

// geminiTurns are contents as generateContent takes them.
var geminiTurns = []string{
	`[{"role":"user","parts":[{"text":"~please look"}]}]`,
	`[{"role":"model","parts":[{"text":"~I see"}]},{"role":"user","parts":[{"text":"~go on"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}]`,
	`[{"role":"model","parts":[{"text":"~looking"},{"functionCall":{"name":"read","args":{"path":"~a file"}},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"~found it"}}}]}]`,
	`[{"role":"model","parts":[{"functionCall":{"id":"^c","name":"read","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"^d","name":"read","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"^c","name":"read","response":{"output":"~one"}}},{"functionResponse":{"id":"^d","name":"read","response":{"error":"~two failed"}}}]}]`,
	`[{"role":"model","parts":[{"text":"~let me think","thought":true},{"text":"~so"}]},{"role":"user","parts":[{"text":"~ok"}]}]`,
	`[{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"~print it"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"~printed"}}]},{"role":"user","parts":[{"text":"~fine"}]}]`,
	`[{"parts":[{"text":"~without a role"}]}]`,
	`[{"role":"user","parts":[{"fileData":{"mimeType":"application/pdf","fileUri":"https://example.com/a.pdf"}},{"text":"~read it"}]}]`,
}

func googleShapes() []*shape {
	const tools = `"tools":[{"functionDeclarations":[{"name":"read","description":"~reads","parameters":{"type":"object"}}]}]`
	gemini := func(name, model, frame string) *shape {
		return of(name, dialectFamily, frame, geminiTurns...).at("/v1beta/models/" + model + ":generateContent")
	}
	interactions := []string{
		`[{"type":"user_input","content":[{"type":"text","text":"~please look"}]}]`,
		`[{"type":"model_output","content":[{"type":"text","text":"~I see"}]},{"type":"user_input","content":[{"type":"text","text":"~go on"},{"type":"image","data":"iVBORw0KGgo=","mime_type":"image/png"}]}]`,
		`[{"type":"function_call","id":"^c","name":"read","arguments":{"path":"~a file"}},{"type":"function_result","call_id":"^c","name":"read","result":"~found it"}]`,
		`[{"type":"thought","signature":"c2ln","summary":[{"type":"text","text":"~let me think"}]},{"type":"model_output","content":[{"type":"text","text":"~so"}]},{"type":"user_input","content":[{"type":"text","text":"~ok"}]}]`,
		`[{"type":"function_call","id":"^c","name":"read","arguments":{}},{"type":"function_result","call_id":"^c","result":[{"type":"text","text":"~typed result"}],"is_error":true}]`,
		`[{"type":"google_search_call","id":"^c","arguments":{"queries":["~who won"]}},{"type":"google_search_result","call_id":"^c","result":[{"title":"~news","url":"https://example.com"}]},{"type":"model_output","content":[{"type":"text","text":"~they did"}]}]`,
	}
	turns := []string{
		`[{"role":"user","content":"~please look"}]`,
		`[{"role":"model","content":[{"type":"text","text":"~I see"}]},{"role":"user","content":[{"type":"text","text":"~go on"}]}]`,
		`[{"role":"model","content":[{"type":"function_call","id":"^c","name":"read","arguments":{"path":"~a file"}}]},{"role":"user","content":[{"type":"function_result","call_id":"^c","name":"read","result":"~found it"}]}]`,
	}
	return []*shape{
		gemini("gemini", "gemini-2.5-pro", `{"systemInstruction":{"parts":[{"text":"~be brief"}]},`+tools+`,"contents":["@"]}`),
		gemini("gemini 3, snake case", "gemini-3-pro-preview", `{"system_instruction":{"parts":[{"text":"~be brief"}]},`+tools+`,"generationConfig":{"temperature":1},"contents":["@"]}`),
		of("gemini, bare list", dialectFamily, `["@"]`, geminiTurns...),
		of("gemini-interactions", dialectFamily, `{"model":"gemini-3-pro-preview","system_instruction":"~be brief","store":false,"input":["@"]}`, interactions...).at("/v1beta/interactions"),
		of("gemini-interactions, turns", dialectFamily, `{"model":"gemini-2.5-flash","store":false,"input":["@"]}`, turns...).at("/v1beta/interactions"),
		of("gemini-interactions, one text", dialectFamily, `{"model":"gemini-2.5-flash","input":"~just this"}`).at("/v1beta/interactions"),
	}
}

func envelopeShapes() []*shape {
	return []*shape{
		of("batch line, openai-chat", envelopeFamily, `{"custom_id":"~job one","method":"POST","url":"/v1/chat/completions","body":{"model":"gpt-5","messages":["@"]}}`, chatTurns...),
		of("batch line, openai-responses", envelopeFamily, `{"custom_id":"~job two","method":"POST","url":"/v1/responses","body":{"model":"gpt-5","input":["@"]}}`, `[{"role":"user","content":"~please"}]`, `[{"type":"function_call","call_id":"^c","name":"read","arguments":"{}"},{"type":"function_call_output","call_id":"^c","output":"~found"}]`),
		of("batch of anthropic", envelopeFamily, `{"requests":[{"custom_id":"~job one","params":{"model":"claude-sonnet-4-5","max_tokens":100,"messages":["@"]}},{"custom_id":"~job two","params":{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"~the other"}]}}]}`, anthropicTurns...).at("/v1/messages/batches"),
		of("batch line, anthropic", envelopeFamily, `{"custom_id":"~job one","params":{"model":"claude-sonnet-4-5","max_tokens":100,"messages":["@"]}}`, anthropicTurns...),
		of("invoke-model, anthropic", envelopeFamily, `{"anthropic_version":"bedrock-2023-05-31","max_tokens":100,"system":"~be brief","messages":["@"]}`, anthropicTurns...).at("/model/anthropic.claude-sonnet-4-5-20250929-v1:0/invoke"),
		of("invoke-model, batch line", envelopeFamily, `{"recordId":"~record","modelInput":{"anthropic_version":"bedrock-2023-05-31","max_tokens":100,"messages":["@"]}}`, anthropicTurns...),
		of("invoke-model, log", envelopeFamily, `{"schemaType":"ModelInvocationLog","operation":"InvokeModel","modelId":"anthropic.claude-sonnet-4-5-20250929-v1:0","input":{"inputContentType":"application/json","inputBodyJson":{"anthropic_version":"bedrock-2023-05-31","max_tokens":100,"messages":["@"]}},"output":{"outputBodyJson":{"content":[{"type":"text","text":"~the reply"}]}}}`, anthropicTurns...),
		of("vertex, anthropic", envelopeFamily, `{"anthropic_version":"vertex-2023-10-16","max_tokens":100,"messages":["@"]}`, anthropicTurns...).at("/v1/projects/p/locations/us/publishers/anthropic/models/claude-sonnet-4-5:rawPredict"),
		of("vertex, batch line", envelopeFamily, `{"request":{"contents":["@"],"systemInstruction":{"parts":[{"text":"~be brief"}]}}}`, geminiTurns...),
		of("gemini, batch line", envelopeFamily, `{"key":"~job one","request":{"contents":["@"]}}`, geminiTurns...),
		of("recorded exchange", envelopeFamily, `{"request":{"method":"POST","url":"https://api.anthropic.com/v1/messages","headers":{"x-note":"~a header"},"body":{"model":"claude-sonnet-4-5","max_tokens":100,"messages":["@"]}},"response":{"status":200,"body":{"content":[{"type":"text","text":"~the reply"}]}}}`, anthropicTurns...),
		of("count tokens, gemini", envelopeFamily, `{"generateContentRequest":{"model":"models/gemini-2.5-pro","contents":["@"]}}`, geminiTurns...).at("/v1beta/models/gemini-2.5-pro:countTokens"),
		of("fine-tuning line, openai", envelopeFamily, `{"messages":[{"role":"system","content":"~be brief"},"@",{"role":"assistant","content":"~the wanted answer","weight":1}]}`, chatTurns...),
		of("preference line, openai", envelopeFamily, `{"input":{"messages":["@"]},"preferred_output":[{"role":"assistant","content":"~the better"}],"non_preferred_output":[{"role":"assistant","content":"~the worse"}]}`, chatTurns...),
	}
}
