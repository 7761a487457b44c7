package truth

// frameworkShapes returns histories as frameworks store them, each bare and in the usual
// wrapper: {"messages": …} with a model.
func frameworkShapes() []*shape {
	const inRequest = `{"model":"gpt-5","messages":["@"]}`
	const bare = `["@"]`
	llamaIndex := []string{
		`[{"role":"user","additional_kwargs":{},"blocks":[{"block_type":"text","text":"~please look"}]}]`,
		`[{"role":"assistant","additional_kwargs":{},"blocks":[{"block_type":"text","text":"~I see"}]}]`,
		`[{"role":"assistant","additional_kwargs":{"tool_calls":[{"id":"^c","type":"function","function":{"name":"read","arguments":"{}"}}]},"blocks":[{"block_type":"tool_call","tool_call_id":"^c","tool_name":"read","tool_kwargs":{"path":"~a file"}}]},{"role":"tool","additional_kwargs":{"tool_call_id":"^c"},"blocks":[{"block_type":"text","text":"~found it"}]}]`,
		`[{"role":"user","additional_kwargs":{},"blocks":[{"block_type":"image","url":"https://example.com/a.png"},{"block_type":"text","text":"~this picture"}]}]`,
	}
	semanticKernel := []string{
		`[{"Role":{"Label":"user"},"Items":[{"$type":"TextContent","Text":"~please look"}]}]`,
		`[{"Role":{"Label":"assistant"},"ModelId":"gpt-5","Items":[{"$type":"TextContent","Text":"~I see"}]}]`,
		`[{"Role":{"Label":"assistant"},"Items":[{"$type":"FunctionCallContent","Id":"^c","PluginName":"files","FunctionName":"read","Arguments":{"path":"~a file"}}]},{"Role":{"Label":"tool"},"Items":[{"$type":"FunctionResultContent","CallId":"^c","PluginName":"files","FunctionName":"read","Result":"~found it"}]}]`,
	}
	semanticPython := []string{
		`[{"role":"user","items":[{"content_type":"text","text":"~please look"}],"metadata":{}}]`,
		`[{"role":"assistant","items":[{"content_type":"text","text":"~I see"}],"ai_model_id":"gpt-5","finish_reason":"stop"}]`,
		`[{"role":"assistant","items":[{"content_type":"function_call","id":"^c","name":"files-read","arguments":"{}"}]},{"role":"tool","items":[{"content_type":"function_result","id":"^c","name":"files-read","result":"~found it"}]}]`,
	}
	extensionsAI := []string{
		`[{"role":"user","contents":[{"$type":"text","text":"~please look"}]}]`,
		`[{"role":"assistant","contents":[{"$type":"text","text":"~I see"}],"messageId":"m1"}]`,
		`[{"role":"assistant","contents":[{"$type":"functionCall","callId":"^c","name":"read","arguments":{"path":"~a file"}}]},{"role":"tool","contents":[{"$type":"functionResult","callId":"^c","result":"~found it"}]}]`,
		`[{"authorName":"ann","role":"user","contents":[{"$type":"data","uri":"data:image/png;base64,iVBORw0KGgo="},{"$type":"text","text":"~this picture"}]}]`,
	}
	vercelUI := []string{
		`[{"id":"#n","role":"user","parts":[{"type":"text","text":"~please look"}]}]`,
		`[{"id":"#n","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"~let me think","state":"done"},{"type":"text","text":"~I see","state":"done"}]}]`,
		`[{"id":"#n","role":"assistant","parts":[{"type":"tool-read","toolCallId":"^c","state":"output-available","input":{"path":"~a file"},"output":"~found it"}]}]`,
		`[{"id":"#n","role":"user","metadata":{"note":"~a note"},"parts":[{"type":"file","mediaType":"image/png","url":"https://example.com/a.png"},{"type":"text","text":"~this picture"}]}]`,
		`[{"id":"#n","role":"assistant","parts":[{"type":"dynamic-tool","toolName":"read","toolCallId":"^c","state":"input-available","input":{"path":"~a file"}}]}]`,
	}
	vercelOld := []string{
		`[{"id":"#n","role":"user","content":"~please look","parts":[{"type":"text","text":"~please look here"}],"createdAt":"#t"}]`,
		`[{"id":"#n","role":"assistant","content":"~I see","parts":[{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"^c","toolName":"read","args":{"path":"~a file"},"result":"~found it"}},{"type":"text","text":"~I see it"}]}]`,
		`[{"id":"#n","role":"data","content":"~some data"}]`,
	}
	vercelModel := []string{
		`[{"role":"user","content":[{"type":"text","text":"~please look"}]}]`,
		`[{"role":"user","content":"~as a text"}]`,
		`[{"role":"assistant","content":[{"type":"reasoning","text":"~let me think"},{"type":"text","text":"~I see"},{"type":"tool-call","toolCallId":"^c","toolName":"read","input":{"path":"~a file"}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"^c","toolName":"read","output":{"type":"text","value":"~found it"}}]}]`,
		`[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"^c","toolName":"read","input":{"path":"~a file"}}]}]`,
	}
	langChain := []string{
		`[{"type":"human","content":"~please look","additional_kwargs":{},"response_metadata":{}}]`,
		`[{"type":"ai","content":"~I see","additional_kwargs":{},"tool_calls":[],"invalid_tool_calls":[]}]`,
		`[{"type":"ai","content":"","additional_kwargs":{},"tool_calls":[{"name":"read","args":{"path":"~a file"},"id":"^c","type":"tool_call"}]},{"type":"tool","content":"~found it","tool_call_id":"^c","name":"read","status":"success"}]`,
		`[{"type":"human","data":{"content":"~in data","type":"human","additional_kwargs":{}}}]`,
		`[{"type":"system","content":"~be brief"}]`,
	}
	langChainSerialised := []string{
		`[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"~please look","type":"human"}}]`,
		`[{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"~I see","type":"ai","tool_calls":[{"name":"read","args":{"path":"~a file"},"id":"^c","type":"tool_call"}]}},{"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],"kwargs":{"content":"~found it","type":"tool","tool_call_id":"^c"}}]`,
	}
	haystack := []string{
		`[{"role":"user","meta":{},"name":null,"content":[{"text":"~please look"}]}]`,
		`[{"role":"assistant","meta":{},"name":null,"content":[{"text":"~I see"},{"tool_call":{"id":"^c","tool_name":"read","arguments":{"path":"~a file"}}}]},{"role":"tool","meta":{},"name":null,"content":[{"tool_call_result":{"result":"~found it","error":false,"origin":{"id":"^c","tool_name":"read","arguments":{"path":"~a file"}}}}]}]`,
		`[{"_role":"user","_meta":{},"_name":null,"_content":[{"text":"~the old way"}]}]`,
	}
	autoGen := []string{
		`[{"source":"user","models_usage":null,"metadata":{},"content":"~please look","type":"TextMessage"}]`,
		`[{"source":"assistant","models_usage":{"prompt_tokens":1},"metadata":{},"content":"~I see","type":"TextMessage"}]`,
		`[{"source":"assistant","models_usage":null,"content":[{"id":"^c","arguments":"{}","name":"read"}],"type":"ToolCallRequestEvent"},{"source":"assistant","models_usage":null,"content":[{"content":"~found it","name":"read","call_id":"^c","is_error":false}],"type":"ToolCallExecutionEvent"},{"source":"assistant","content":"~in short","type":"ToolCallSummaryMessage"}]`,
	}
	autoGenModel := []string{
		`[{"content":"~be brief","type":"SystemMessage"},{"content":"~please look","source":"user","type":"UserMessage"}]`,
		`[{"content":"~I see","thought":"~let me think","source":"assistant","type":"AssistantMessage"}]`,
		`[{"content":[{"id":"^c","arguments":"{}","name":"read"}],"source":"assistant","type":"AssistantMessage"},{"content":[{"content":"~found it","name":"read","call_id":"^c","is_error":false}],"type":"FunctionExecutionResultMessage"}]`,
	}
	a2a := []string{
		`[{"kind":"message","messageId":"#n","role":"user","parts":[{"kind":"text","text":"~please look"}]}]`,
		`[{"kind":"message","messageId":"#n","role":"agent","parts":[{"kind":"text","text":"~I see"},{"kind":"data","data":{"k":"~some data"}}]}]`,
		`[{"kind":"message","messageId":"#n","role":"user","parts":[{"kind":"file","file":{"name":"~a file","mimeType":"text/plain","uri":"https://example.com/a"}},{"kind":"text","text":"~this file"}]}]`,
	}
	f := func(name, frame string, groups []string) *shape { return of(name, frameworkFamily, frame, groups...) }
	return []*shape{
		f("llamaindex", bare, llamaIndex),
		f("llamaindex, chat store", `{"store":{"alice":["@"]},"class_name":"SimpleChatStore"}`, llamaIndex),
		f("llamaindex, in a request", inRequest, llamaIndex).at("/v1/chat/completions"),
		f("semantic kernel", bare, semanticKernel),
		f("semantic kernel, python", `{"messages":["@"]}`, semanticPython),
		f("semantic kernel, in a request", inRequest, semanticPython).at("/v1/chat/completions"),
		f("microsoft.extensions.ai", bare, extensionsAI),
		f("microsoft.extensions.ai, in a request", inRequest, extensionsAI).at("/v1/chat/completions"),
		f("vercel ui", bare, vercelUI),
		f("vercel ui, chat", `{"id":"chat_1","trigger":"submit-message","messages":["@"]}`, vercelUI),
		f("vercel ui, in a request", inRequest, vercelUI).at("/v1/chat/completions"),
		f("vercel ui 4", `{"id":"chat_1","messages":["@"]}`, vercelOld),
		f("vercel model", bare, vercelModel),
		f("vercel model, in a request", `{"model":"claude-sonnet-4-5","messages":["@"]}`, vercelModel).at("/v1/messages"),
		f("langchain", bare, langChain),
		f("langchain, in a request", inRequest, langChain).at("/v1/chat/completions"),
		f("langchain, serialised", bare, langChainSerialised),
		f("langgraph state", `{"values":{"messages":["@"]},"next":[],"config":{"configurable":{"thread_id":"t1"}}}`, langChain),
		f("haystack", bare, haystack),
		f("haystack, in a request", inRequest, haystack).at("/v1/chat/completions"),
		f("autogen", bare, autoGen),
		f("autogen, task result", `{"messages":["@"],"stop_reason":"~it is done"}`, autoGen),
		f("autogen, model context", `{"messages":["@"]}`, autoGenModel),
		f("a2a", bare, a2a),
		f("a2a, task", `{"id":"task_1","contextId":"ctx_1","kind":"task","status":{"state":"completed"},"history":["@"],"artifacts":[{"artifactId":"a1","parts":[{"kind":"text","text":"~the result"}]}]}`, a2a),
		f("a2a, in a request", `{"contents":["@"]}`, a2a).at("/v1beta/models/gemini-2.5-pro:generateContent"),
		f("a2a, call", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"~please look"}]}}}`, nil),
	}
}

// moreFrameworks are further ones.
func moreFrameworks() []*shape {
	const inRequest = `{"model":"gpt-5","messages":["@"]}`
	const bare = `["@"]`
	agentsAPI := []string{
		`[{"role":"user","content":"~please look"}]`,
		`[{"role":"assistant","content":"~I see"}]`,
		`[{"role":"assistant","content":"~I call","tool_call":{"id":"^c","name":"read","input":{"path":"~a file"}}},{"role":"tool","tool_result":{"id":"^c","output":"~found it"}}]`,
		`[{"type":"tool_call","tool_call":{"id":"^c","name":"read","parameters":{"path":"~a file"}}},{"type":"tool_result","tool_result":{"tool_call_id":"^c","content":"~found it"}}]`,
		`[{"type":"message","message":{"role":"user","content":"~in an envelope"}}]`,
	}
	mastra := []string{
		`[{"id":"#n","role":"user","createdAt":"#t","threadId":"t1","resourceId":"r1","type":"text","content":{"format":2,"parts":[{"type":"text","text":"~please look"}],"content":"~please look here"}}]`,
		`[{"id":"#n","role":"assistant","createdAt":"#t","threadId":"t1","content":{"format":2,"parts":[{"type":"text","text":"~I see"},{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"^c","toolName":"read","args":{"path":"~a file"},"result":"~found it"}}]}}]`,
	}
	strands := []string{
		`[{"role":"user","content":[{"text":"~please look"}]}]`,
		`[{"role":"assistant","content":[{"text":"~I see"}]}]`,
		`[{"role":"assistant","content":[{"toolUse":{"toolUseId":"^c","name":"read","input":{"path":"~a file"}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"^c","status":"success","content":[{"text":"~found it"}]}}]}]`,
	}
	strandsSession := []string{
		`[{"message":{"role":"user","content":[{"text":"~please look"}]},"message_id":0,"redact_message":null,"created_at":"#t"}]`,
		`[{"message":{"role":"assistant","content":[{"text":"~I see"},{"toolUse":{"toolUseId":"^c","name":"read","input":{}}}]},"message_id":1,"created_at":"#t"}]`,
	}
	crewAI := []string{
		`[{"role":"user","content":"~please look"}]`,
		`[{"role":"assistant","content":"~Thought: I should read\nAction: read\nAction Input: {}\nObservation: found"}]`,
	}
	smolagents := []string{
		`[{"role":"user","content":[{"type":"text","text":"~please look"}]}]`,
		`[{"role":"assistant","content":[{"type":"text","text":"~I see"}],"tool_calls":[{"id":"^c","type":"function","function":{"name":"read","arguments":{"path":"~a file"}}}]},{"role":"tool-response","content":[{"type":"text","text":"~Observation: found it"}]}]`,
		`[{"role":"tool-call","content":[{"type":"text","text":"~Calling tools"}]}]`,
	}
	smolSteps := []string{
		`[{"task":"~please look","task_images":null}]`,
		`[{"step_number":1,"timing":{},"model_input_messages":[{"role":"user","content":[{"type":"text","text":"~please look"}]}],"tool_calls":[{"id":"^c","type":"function","function":{"name":"python_interpreter","arguments":"~print it"}}],"observations":"~found it","model_output":"~I see","action_output":null}]`,
	}
	dspy := []string{
		`[{"question":"~what is it","answer":"~it is this"}]`,
		`[{"prompt":null,"messages":[{"role":"system","content":"~be brief"},{"role":"user","content":"~please look"}],"outputs":["~I see"],"model":"openai/gpt-5"}]`,
	}
	letta := []string{
		`[{"id":"message-1","date":"#t","message_type":"user_message","content":"~please look"}]`,
		`[{"id":"message-2","date":"#t","message_type":"reasoning_message","reasoning":"~let me think","source":"reasoner_model"},{"id":"message-3","date":"#t","message_type":"assistant_message","content":"~I see"}]`,
		`[{"id":"message-4","date":"#t","message_type":"tool_call_message","tool_call":{"name":"read","arguments":"{}","tool_call_id":"^c"}},{"id":"message-5","date":"#t","message_type":"tool_return_message","tool_return":"~found it","status":"success","tool_call_id":"^c"}]`,
	}
	lettaFile := []string{
		`[{"type":"message","role":"user","content":[{"type":"text","text":"~please look"}],"id":"message-1","agent_id":"agent-0","tool_calls":null,"tool_call_id":null}]`,
		`[{"type":"message","role":"assistant","content":[{"type":"text","text":"~I see"}],"id":"message-2","tool_calls":[{"id":"^c","type":"function","function":{"name":"send_message","arguments":"{}"}}]},{"type":"message","role":"tool","content":[{"type":"text","text":"~found it"}],"id":"message-3","tool_call_id":"^c","tool_returns":[{"status":"success","stdout":["~printed"]}]}]`,
	}
	atif := []string{
		`[{"step_id":1,"timestamp":"#t","source":"user","message":"~please look"}]`,
		`[{"step_id":2,"timestamp":"#t","source":"agent","model_name":"gpt-5","message":"~I see","reasoning_content":"~let me think","tool_calls":[{"tool_call_id":"^c","function_name":"read","arguments":{"path":"~a file"}}],"observation":{"results":[{"source_call_id":"^c","content":"~found it"}]}}]`,
		`[{"step_id":3,"source":"system","message":"~be brief"}]`,
	}
	shareGPT := []string{
		`[{"from":"human","value":"~please look"}]`,
		`[{"from":"gpt","value":"~I see"}]`,
		`[{"from":"function_call","value":"~a call"},{"from":"observation","value":"~found it"}]`,
	}
	agentsSDK := []string{
		`[{"content":"~please look","role":"user"}]`,
		`[{"id":"msg_1","content":[{"annotations":[],"text":"~I see","type":"output_text","logprobs":[]}],"role":"assistant","status":"completed","type":"message"}]`,
		`[{"arguments":"{}","call_id":"^c","name":"read","type":"function_call","id":"fc_1","status":"completed"},{"call_id":"^c","output":"~found it","type":"function_call_output"}]`,
	}
	pydanticAI := []string{
		`[{"parts":[{"content":"~please look","timestamp":"#t","part_kind":"user-prompt"},{"content":"~be brief","part_kind":"system-prompt"}],"kind":"request","instructions":"~be kind"}]`,
		`[{"parts":[{"content":"~I see","part_kind":"text"},{"tool_name":"read","args":{"path":"~a file"},"tool_call_id":"^c","part_kind":"tool-call"}],"model_name":"gpt-5","kind":"response"},{"parts":[{"tool_name":"read","content":"~found it","tool_call_id":"^c","part_kind":"tool-return"}],"kind":"request"}]`,
	}
	agui := []string{
		`[{"id":"#n","role":"user","content":"~please look"}]`,
		`[{"id":"#n","role":"assistant","content":"~I see","toolCalls":[{"id":"^c","type":"function","function":{"name":"read","arguments":"{}"}}]},{"id":"#n","role":"tool","toolCallId":"^c","content":"~found it"}]`,
		`[{"id":"#n","role":"activity","activityType":"plan","content":{"step":"~a step"}}]`,
	}
	springAI := []string{
		`[{"messageType":"USER","text":"~please look","metadata":{"messageType":"USER"},"media":[]}]`,
		`[{"messageType":"ASSISTANT","text":"~I see","toolCalls":[{"id":"^c","type":"function","name":"read","arguments":"{}"}]},{"messageType":"TOOL","responses":[{"id":"^c","name":"read","responseData":"~found it"}],"text":""}]`,
	}
	f := func(name, frame string, groups []string) *shape { return of(name, frameworkFamily, frame, groups...) }
	return []*shape{
		f("agents-api", bare, agentsAPI),
		f("agents-api, in a request", inRequest, agentsAPI).at("/v1/chat/completions"),
		f("mastra", bare, mastra),
		f("mastra, in a request", inRequest, mastra).at("/v1/chat/completions"),
		f("strands", bare, strands),
		f("strands, session", bare, strandsSession),
		f("crewai", bare, crewAI),
		f("smolagents", bare, smolagents),
		f("smolagents, steps", bare, smolSteps),
		f("dspy", bare, dspy),
		f("dspy, history", `{"messages":["@"]}`, dspy),
		f("letta", bare, letta),
		f("letta, agent file", `{"agents":[{"id":"agent-0","name":"a","system":"~be brief","messages":["@"]}],"groups":[],"blocks":[{"label":"human","value":"~who it is"}]}`, lettaFile),
		f("atif", `{"schema_version":"ATIF-v1.4","session_id":"s1","agent":{"name":"a","version":"1"},"steps":["@"],"notes":"~a note"}`, atif),
		f("sharegpt", `{"id":"1","conversations":["@"],"system":"~be brief"}`, shareGPT),
		f("sharegpt, in a request", `{"messages":["@"]}`, shareGPT),
		f("agents sdk, session", bare, agentsSDK),
		f("pydantic ai", bare, pydanticAI),
		f("ag-ui", `{"threadId":"t1","runId":"r1","state":{},"messages":["@"],"tools":[],"context":[{"description":"~what","value":"~a context"}]}`, agui),
		f("spring ai", bare, springAI),
		f("spring ai, in a request", inRequest, springAI).at("/v1/chat/completions"),
		f("alpaca", bare, []string{`[{"instruction":"~please look","input":"~at this","output":"~I see"}]`}),
	}
}

// otherShapes returns JSON that is not a request, with members of the same names.
func otherShapes() []*shape {
	f := func(name, frame string, groups ...string) *shape { return of(name, otherFamily, frame, groups...) }
	return []*shape{
		f("numbers", `[1,2,3]`),
		f("texts", `["~one thing","~another thing","~a third"]`),
		f("lists of texts", `[["~one thing"],["~another"]]`),
		f("translations", `{"locale":"en","messages":["@"]}`, `[{"id":"greeting","text":"~Hello there"}]`, `[{"id":"bye","text":"~Good bye","note":"~when leaving"}]`),
		f("translations, by key", `{"messages":{"greeting":"~Hello there","bye":"~Good bye"}}`),
		f("translations, chrome", `{"appName":{"message":"~An extension","description":"~its name"},"hello":{"message":"~Hello there"}}`),
		f("accounts", `["@"]`, `[{"role":"admin","name":"~Ann Smith"}]`, `[{"role":"user","name":"~Bob Jones","email":"~bob at home"}]`),
		f("accounts, with content", `{"messages":["@"]}`, `[{"role":"admin","content":"~a page"}]`),
		f("bundler", `{"input":["~a.js and","~b.js"],"output":{"file":"~out.js of it","format":"es"}}`),
		f("bundler, one input", `{"input":"src/a.js","output":"~out of it"}`),
		f("table of contents", `{"contents":["~a chapter","~another one"],"title":"~a book"}`),
		f("contents, objects", `{"contents":["@"]}`, `[{"title":"~a chapter","page":1}]`, `[{"title":"~another","page":9,"parts":["~a part"]}]`),
		f("package.json", `{"name":"a","version":"1.0.0","description":"~what it is","scripts":{"test":"~run the tests"},"keywords":["~a word of it"],"author":"~Ann Smith","files":["dist"]}`),
		f("mail", `{"from":"ann","to":["bob"],"subject":"~about it","messages":["@"]}`, `[{"from":"ann","body":"~dear Bob"}]`, `[{"from":"bob","body":"~dear Ann","date":"#t"}]`),
		f("slack", `{"ok":true,"messages":["@"]}`, `[{"type":"message","user":"U1","text":"~hello all","ts":"1.0"}]`, `[{"type":"message","user":"U2","text":"~hi","ts":"2.0","blocks":[{"type":"rich_text","elements":[{"type":"text","text":"~hi there"}]}]}]`),
		f("slack, export", `["@"]`, `[{"type":"message","user":"U1","text":"~hello all","ts":"1.0","attachments":[{"text":"~attached"}]}]`),
		f("discord", `{"guild":{"name":"~a place"},"messages":["@"]}`, `[{"id":"1","type":"Default","content":"~hello all","author":{"id":"2","name":"ann"}}]`),
		f("lint report", `["@"]`, `[{"filePath":"a.js","messages":[{"ruleId":"no-undef","severity":2,"message":"~is not defined","line":1}],"errorCount":1}]`),
		f("openapi", `{"openapi":"3.1.0","info":{"title":"~an API","version":"1"},"paths":{"/a":{"get":{"description":"~gets it"}}}}`),
		f("geojson", `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"name":"~a place"},"geometry":{"type":"Point","coordinates":[1,2]}}]}`),
		f("reply, chat", `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"~the reply"},"finish_reason":"stop"}]}`),
		f("reply, anthropic", `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"~the reply"}],"stop_reason":"end_turn"}`),
		f("reply, gemini", `{"candidates":[{"content":{"role":"model","parts":[{"text":"~the reply"}]}}]}`),
		f("embeddings", `{"model":"text-embedding-3-small","input":["~embed this","~and that"]}`),
		f("moderation", `{"model":"omni-moderation-latest","input":[{"type":"text","text":"~judge this"}]}`),
		f("a text", `"~only a text"`),
		f("an empty object", `{}`),
		f("form", `{"input":[{"type":"text","name":"~your name","value":"~Ann Smith"}],"action":"~send it"}`),
		f("notebook", `{"cells":[{"cell_type":"markdown","source":["~a title"]}],"metadata":{},"nbformat":4}`),
	}
}
