package truth

// anthropicTurns are messages as the Messages API takes them.
var anthropicTurns = []string{
	`[{"role":"user","content":"~please look"}]`,
	`[{"role":"user","content":[{"type":"text","text":"~and this"}]},{"role":"assistant","content":[{"type":"text","text":"~I see"}]}]`,
	`[{"role":"assistant","content":"~I will look"},{"role":"user","content":"~go on"}]`,
	`[{"role":"assistant","content":[{"type":"text","text":"~looking"},{"type":"tool_use","id":"^c","name":"read","input":{"path":"~a file"}}]},
	  {"role":"user","content":[{"type":"tool_result","tool_use_id":"^c","content":"~found it"},{"type":"text","text":"~now what"}]}]`,
	`[{"role":"assistant","content":[{"type":"tool_use","id":"^c","name":"read","input":{"path":"~one"}},{"type":"tool_use","id":"^d","name":"run","input":{"command":"~two"}}]},
	  {"role":"user","content":[{"type":"tool_result","tool_use_id":"^c","content":[{"type":"text","text":"~first"}]},{"type":"tool_result","tool_use_id":"^d","is_error":true,"content":"~second failed"}]}]`,
	`[{"role":"assistant","content":[{"type":"thinking","thinking":"~let me think","signature":"c2lnbmF0dXJl"},{"type":"text","text":"~so"}]},{"role":"user","content":"~ok"}]`,
	`[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"text","text":"~what is this"}]}]`,
	`[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"~the whole page"},"title":"~a title","context":"~some context"},{"type":"text","text":"~read it"}]}]`,
	`[{"role":"user","content":[{"type":"search_result","source":"https://example.com","title":"~a hit","content":[{"type":"text","text":"~what it says"}]},{"type":"text","text":"~use it"}]}]`,
}

var anthropicServer = []string{
	`[{"role":"user","content":"~search it"}]`,
	`[{"role":"assistant","content":[{"type":"server_tool_use","id":"^srvtoolu_1","name":"web_search","input":{"query":"~who won"}},{"type":"web_search_tool_result","tool_use_id":"^srvtoolu_1","content":[{"type":"web_search_result","url":"https://example.com","title":"~news","encrypted_content":"ZW5j"}]},{"type":"text","text":"~they did","citations":[{"type":"web_search_result_location","url":"https://example.com","title":"~news","cited_text":"~they won","encrypted_index":"aWR4"}]}]},{"role":"user","content":"~thanks"}]`,
	`[{"role":"assistant","content":[{"type":"mcp_tool_use","id":"^mcptoolu_1","name":"echo","server_name":"srv","input":{"text":"~say"}},{"type":"mcp_tool_result","tool_use_id":"^mcptoolu_1","is_error":false,"content":[{"type":"text","text":"~said"}]}]},{"role":"user","content":"~and again"}]`,
	`[{"role":"assistant","content":[{"type":"server_tool_use","id":"^srvtoolu_2","name":"code_execution","input":{"code":"~print it"}},{"type":"code_execution_tool_result","tool_use_id":"^srvtoolu_2","content":{"type":"code_execution_result","stdout":"~printed","stderr":"","return_code":0,"content":[]}}]},{"role":"user","content":"~good"}]`,
	`[{"role":"assistant","content":[{"type":"redacted_thinking","data":"cmVkYWN0ZWQ="},{"type":"text","text":"~hm"}]},{"role":"user","content":"~go"}]`,
	`[{"role":"user","content":[{"type":"container_upload","file_id":"file_1"},{"type":"text","text":"~take this"}]}]`,
}

// chatTurns are messages as Chat Completions takes them.
var chatTurns = []string{
	`[{"role":"user","content":"~please look"}]`,
	`[{"role":"assistant","content":"~I see"},{"role":"user","content":"~go on"}]`,
	`[{"role":"user","content":[{"type":"text","text":"~what is this"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]`,
	`[{"role":"assistant","content":null,"tool_calls":[{"id":"^c","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]},{"role":"tool","tool_call_id":"^c","content":"~found it"}]`,
	`[{"role":"assistant","content":"~two at once","tool_calls":[{"id":"^c","type":"function","function":{"name":"read","arguments":"{}"}},{"id":"^d","type":"function","function":{"name":"run","arguments":"~arguments that are prose"}}]},
	  {"role":"tool","tool_call_id":"^c","content":[{"type":"text","text":"~one"}]},{"role":"tool","tool_call_id":"^d","content":"~two"}]`,
	`[{"role":"user","name":"ann","content":"~it is me"},{"role":"assistant","content":[{"type":"text","text":"~typed answer"}]}]`,
}

var chatOdd = []string{
	`[{"role":"user","content":"~tell me"}]`,
	`[{"role":"assistant","content":null,"refusal":"~I must not"},{"role":"user","content":"~why"}]`,
	`[{"role":"assistant","content":[{"type":"refusal","refusal":"~no, not that"}]},{"role":"user","content":"~please"}]`,
	`[{"role":"assistant","content":null,"audio":{"id":"audio_1","transcript":"~spoken words"}},{"role":"user","content":"~louder"}]`,
	`[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},{"type":"text","text":"~listen"}]}]`,
	`[{"role":"user","content":[{"type":"file","file":{"filename":"~a paper","file_data":"data:application/pdf;base64,JVBERg=="}},{"type":"text","text":"~read it"}]}]`,
	`[{"role":"assistant","content":"","refusal":"~never","tool_calls":[{"id":"^c","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"^c","content":"~here"}]`,
	`[{"role":"assistant","content":null,"tool_calls":[{"id":"^c","type":"custom","custom":{"name":"patch","input":"~begin the patch"}}]},{"role":"tool","tool_call_id":"^c","content":"~patched"}]`,
	`[{"role":"assistant","content":null,"function_call":{"name":"read","arguments":"{}"}},{"role":"function","name":"read","content":"~old style"}]`,
	`[{"role":"developer","content":"~be careful"},{"role":"user","content":"~yes"}]`,
}

var chatReasoning = []string{
	`[{"role":"user","content":"~think"}]`,
	`[{"role":"assistant","reasoning_content":"~first this","content":"~then that"},{"role":"user","content":"~more"}]`,
	`[{"role":"assistant","reasoning_content":"~which tool","content":"","tool_calls":[{"id":"^c","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"^c","content":"~so it is"}]`,
	`[{"role":"assistant","reasoning":"~by router","reasoning_details":[{"type":"reasoning.text","text":"~in detail","signature":"c2ln"}],"content":"~done"},{"role":"user","content":"~next"}]`,
	`[{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"~as Mistral thinks"}]},{"type":"text","text":"~so"}]},{"role":"user","content":"~fine"}]`,
	`[{"role":"assistant","reasoning_content":"~nothing but this"},{"role":"user","content":"~and"}]`,
}

const chatTools = `"tools":[{"type":"function","function":{"name":"read","description":"~reads a file","parameters":{"type":"object"}}},{"type":"function","function":{"name":"run","parameters":{"type":"object"}}}]`

func dialectShapes() []*shape {
	const anthropicTools = `"tools":[{"name":"read","description":"~reads a file","input_schema":{"type":"object"}},{"name":"run","input_schema":{"type":"object"}}]`
	anthropic := func(name, frame string, turns []string) *shape {
		return of(name, dialectFamily, frame, turns...).at("/v1/messages")
	}
	chat := func(name, frame string, turns []string) *shape {
		return of(name, dialectFamily, frame, turns...).at("/v1/chat/completions")
	}
	bedrock := func(name, model string) *shape {
		return of(name, dialectFamily, `{"modelId":"`+model+`","system":[{"text":"~be brief"}],"toolConfig":{"tools":[{"toolSpec":{"name":"read","description":"~reads","inputSchema":{"json":{"type":"object"}}}}]},"messages":["@"]}`, bedrockTurns...).at("/model/" + model + "/converse")
	}
	return []*shape{
		anthropic("anthropic", `{"model":"claude-sonnet-4-5","max_tokens":1024,"system":"~be brief",`+anthropicTools+`,"messages":["@"]}`, anthropicTurns),
		anthropic("anthropic, typed system, metadata", `{"model":"claude-opus-4-8","max_tokens":1024,"system":[{"type":"text","text":"~be kind","cache_control":{"type":"ephemeral"}}],"metadata":{"user_id":"~somebody"},"thinking":{"type":"enabled","budget_tokens":1024},`+anthropicTools+`,"messages":["@"]}`, anthropicTurns),
		anthropic("anthropic, server tools", `{"model":"claude-sonnet-4-5","max_tokens":1024,"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":["@"]}`, anthropicServer),
		of("anthropic, bare list", dialectFamily, `["@"]`, anthropicTurns...),
		chat("openai-chat", `{"model":"gpt-5",`+chatTools+`,"messages":[{"role":"system","content":"~be brief"},"@"]}`, chatTurns),
		chat("openai-chat, refusals, audio, files", `{"model":"gpt-4o","messages":["@"]}`, chatOdd),
		chat("openai-chat, deepseek", `{"model":"deepseek-reasoner",`+chatTools+`,"messages":["@"]}`, chatReasoning),
		chat("openai-chat, mistral", `{"model":"mistral-large-latest",`+chatTools+`,"messages":[{"role":"system","content":"~be brief"},"@"]}`, chatTurns),
		chat("openai-chat, groq", `{"model":"openai/gpt-oss-120b","messages":["@"]}`, chatReasoning),
		chat("openai-chat, no model", `{"messages":["@"]}`, chatTurns),
		of("openai-chat, bare list", dialectFamily, `["@"]`, chatTurns...),
		bedrock("bedrock, claude", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
		bedrock("bedrock, llama", "meta.llama3-3-70b-instruct-v1:0"),
		bedrock("bedrock, nova", "amazon.nova-pro-v1:0"),
		of("bedrock, bare list", dialectFamily, `["@"]`, bedrockTurns...),
	}
}

// bedrockTurns are messages as Converse takes them.
var bedrockTurns = []string{
	`[{"role":"user","content":[{"text":"~please look"}]}]`,
	`[{"role":"assistant","content":[{"text":"~I see"}]},{"role":"user","content":[{"text":"~go on"}]}]`,
	`[{"role":"assistant","content":[{"text":"~looking"},{"toolUse":{"toolUseId":"^c","name":"read","input":{"path":"~a file"}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"^c","content":[{"text":"~found it"}],"status":"success"}}]}]`,
	`[{"role":"assistant","content":[{"toolUse":{"toolUseId":"^c","name":"read","input":{}}},{"toolUse":{"toolUseId":"^d","name":"read","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"^c","content":[{"json":{"found":"~as json"}}]}},{"toolResult":{"toolUseId":"^d","content":[{"text":"~failed"}],"status":"error"}}]}]`,
	`[{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"~let me think","signature":"c2ln"}}},{"text":"~so"}]},{"role":"user","content":[{"text":"~ok"}]}]`,
	`[{"role":"user","content":[{"document":{"format":"txt","name":"paper","source":{"text":"~the page"},"context":"~where from"}},{"text":"~read it"},{"image":{"format":"png","source":{"bytes":"iVBORw0KGgo="}}}]}]`,
	`[{"role":"user","content":[{"guardContent":{"text":{"text":"~guarded words"}}},{"text":"~and these"},{"cachePoint":{"type":"default"}}]}]`,
}
