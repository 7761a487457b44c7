package truth

// agentShapes are the session files of coding agents that are files of lines.
func agentShapes() []*shape {
	const claude = `"uuid":"#n","parentUuid":"#p","sessionId":"a1b2c3d4-1111-4000-8000-000000000000","timestamp":"#t","cwd":"/home/dev/project","version":"2.1.325","gitBranch":"main","isSidechain":false,"userType":"external"`
	const claudeReply = `"requestId":"req_1","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1},"content":`
	const qwen = `"uuid":"#n","parentUuid":"#p","sessionId":"s1","timestamp":"#t","cwd":"/home/dev/project","version":"0.24.4"`
	const copilot = `"id":"#n","parentId":"#p","timestamp":"#t"`
	return []*shape{
		of("claude code", agentFamily, `["@"]`,
			`[{"type":"user",`+claude+`,"message":{"role":"user","content":"~please look"}}]`,
			`[{"type":"assistant",`+claude+`,`+claudeReply+`[{"type":"text","text":"~I see"}]}},{"type":"user",`+claude+`,"message":{"role":"user","content":[{"type":"text","text":"~go on"}]}}]`,
			`[{"type":"assistant",`+claude+`,`+claudeReply+`[{"type":"tool_use","id":"^c","name":"Read","input":{"file_path":"~a file"}}]}},{"type":"user",`+claude+`,"toolUseResult":{"stdout":"~as a record"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"^c","content":"~found it"}]}}]`,
			`[{"type":"assistant",`+claude+`,`+claudeReply+`[{"type":"thinking","thinking":"~let me think","signature":"c2ln"}]}},{"type":"assistant",`+claude+`,`+claudeReply+`[{"type":"text","text":"~so"}]}},{"type":"user",`+claude+`,"message":{"role":"user","content":"~ok"}}]`,
			`[{"type":"system","subtype":"informational","content":"~a note","level":"info",`+claude+`}]`,
			`[{"type":"user",`+claude+`,"isMeta":true,"message":{"role":"user","content":"~a caveat"}},{"type":"user",`+claude+`,"message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"text","text":"~this picture"}]}}]`,
			`[{"type":"summary","summary":"~what it was about","leafUuid":"#p"}]`,
		).inFile("a1b2c3d4-1111-4000-8000-000000000000.jsonl"),
		of("codex", agentFamily, `[{"timestamp":"2026-11-01T09:59:00.000Z","type":"session_meta","payload":{"id":"a1b2c3d4-1111-4000-8000-000000000000","timestamp":"2026-11-01T09:59:00.000Z","cwd":"/home/dev/project","originator":"codex_exec","cli_version":"0.166.0","instructions":"~be brief","source":"exec","model_provider":"openai"}},"@"]`,
			`[{"timestamp":"#t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"~please look"}]}},{"timestamp":"#t","type":"event_msg","payload":{"type":"user_message","message":"~please look at it"}}]`,
			`[{"timestamp":"#t","type":"turn_context","payload":{"cwd":"/home/dev/project","approval_policy":"never","sandbox_policy":{"type":"read-only"},"model":"gpt-5-codex","summary":"auto"}}]`,
			`[{"timestamp":"#t","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"~I see"}]}},{"timestamp":"#t","type":"event_msg","payload":{"type":"agent_message","message":"~I see it"}}]`,
			`[{"timestamp":"#t","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"^c"}},{"timestamp":"#t","type":"response_item","payload":{"type":"function_call_output","call_id":"^c","output":"~found it"}}]`,
			`[{"timestamp":"#t","type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"~what I thought"}],"content":null,"encrypted_content":"ZW5j"}}]`,
			`[{"timestamp":"#t","type":"response_item","payload":{"type":"custom_tool_call","status":"completed","call_id":"^c","name":"apply_patch","input":"~begin the patch"}},{"timestamp":"#t","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"^c","output":"~patched"}}]`,
		).inFile("rollout-2026-11-01T09-59-00-a1b2c3d4-1111-4000-8000-000000000000.jsonl"),
		of("gemini cli", agentFamily, `[{"sessionId":"a1b2c3d4-1111-4000-8000-000000000000","projectHash":"abc","startTime":"2026-11-01T09:59:00.000Z","lastUpdated":"2026-11-01T09:59:00.000Z","kind":"main"},"@"]`,
			`[{"id":"#n","timestamp":"#t","type":"user","content":[{"text":"~please look"}]}]`,
			`[{"id":"#n","timestamp":"#t","type":"gemini","content":"~I see","thoughts":[{"subject":"~a thought","description":"~in detail","timestamp":"#t"}],"tokens":{"input":1},"model":"gemini-2.5-pro"}]`,
			`[{"id":"#n","timestamp":"#t","type":"gemini","content":"","toolCalls":[{"id":"^c","name":"read_file","args":{"path":"~a file"},"result":[{"functionResponse":{"id":"^c","name":"read_file","response":{"output":"~found it"}}}],"status":"success","timestamp":"#t","resultDisplay":"~as shown"}],"model":"gemini-2.5-pro"}]`,
			`[{"id":"#n","timestamp":"#t","type":"info","content":"~a note"}]`,
		).inFile("session-2026-11-01T09-59-a1b2c3d4.jsonl"),
		of("pi", agentFamily, `[{"type":"session","version":3,"id":"a1b2c3d4-1111-4000-8000-000000000000","timestamp":"2026-11-01T09:59:00.000Z","cwd":"/home/dev/project"},"@"]`,
			`[{"type":"message","id":"#n","parentId":"#p","timestamp":"#t","message":{"role":"user","content":[{"type":"text","text":"~please look"}],"timestamp":1}}]`,
			`[{"type":"message","id":"#n","parentId":"#p","timestamp":"#t","message":{"role":"assistant","content":[{"type":"thinking","thinking":"~let me think"},{"type":"text","text":"~I see"}],"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","stopReason":"stop","timestamp":1}}]`,
			`[{"type":"message","id":"#n","parentId":"#p","timestamp":"#t","message":{"role":"assistant","content":[{"type":"toolCall","id":"^c","name":"read","arguments":{"path":"~a file"}}],"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","stopReason":"toolUse","timestamp":1}},{"type":"message","id":"#n","parentId":"#p","timestamp":"#t","message":{"role":"toolResult","toolCallId":"^c","toolName":"read","content":[{"type":"text","text":"~found it"}],"isError":false,"timestamp":1}}]`,
			`[{"type":"custom_message","id":"#n","parentId":"#p","timestamp":"#t","customType":"note","content":"~by an extension","display":true}]`,
			`[{"type":"message","id":"#n","parentId":"#p","timestamp":"#t","message":{"role":"bashExecution","command":"~ls here","output":"~a listing","exitCode":0,"timestamp":1}}]`,
		).inFile("2026-11-01T09-59-00-000Z_a1b2c3d4.jsonl"),
		of("goose", agentFamily, `[{"description":"~a talk","working_dir":"/home/dev/project","message_count":1,"total_tokens":1},"@"]`,
			`[{"role":"user","created":1,"content":[{"type":"text","text":"~please look"}]}]`,
			`[{"role":"assistant","created":1,"content":[{"type":"text","text":"~I see"}]}]`,
			`[{"role":"assistant","created":1,"content":[{"type":"toolRequest","id":"^c","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"~ls here"}}}}]},{"role":"user","created":1,"content":[{"type":"toolResponse","id":"^c","toolResult":{"status":"success","value":[{"type":"text","text":"~found it"}]}}]}]`,
			`[{"role":"assistant","created":1,"content":[{"type":"thinking","thinking":"~let me think","signature":"c2ln"},{"type":"text","text":"~so"}]}]`,
		).inFile("20261101_095900.jsonl"),
		of("qwen code", agentFamily, `["@"]`,
			`[{"type":"user",`+qwen+`,"message":{"role":"user","parts":[{"text":"~please look"}]}}]`,
			`[{"type":"assistant",`+qwen+`,"model":"qwen3-coder","message":{"role":"model","parts":[{"text":"~I see"}]}}]`,
			`[{"type":"assistant",`+qwen+`,"model":"qwen3-coder","message":{"role":"model","parts":[{"functionCall":{"id":"^c","name":"read_file","args":{"path":"~a file"}}}]}},{"type":"tool_result",`+qwen+`,"message":{"role":"user","parts":[{"functionResponse":{"id":"^c","name":"read_file","response":{"output":"~found it"}}}]},"toolCallResult":{"callId":"^c","status":"success","resultDisplay":"~as shown"}}]`,
		).inFile("a1b2c3d4-1111-4000-8000-000000000000.jsonl"),
		of("copilot", agentFamily, `[{"type":"session.start","data":{"sessionId":"a1b2c3d4-1111-4000-8000-000000000000","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":"2026-11-01T09:59:00.000Z"},"id":"a1b2c3d4-2222-4000-8000-000000000000","timestamp":"2026-11-01T09:59:00.000Z","parentId":null},"@"]`,
			`[{"type":"user.message","data":{"content":"~please look","transformedContent":"~please look here","attachments":[]},`+copilot+`}]`,
			`[{"type":"assistant.message","data":{"messageId":"^m","content":"~I see","toolRequests":[]},`+copilot+`}]`,
			`[{"type":"assistant.message","data":{"messageId":"^m","content":"","toolRequests":[{"toolCallId":"^c","name":"bash","arguments":{"command":"~ls here"},"type":"function"}]},`+copilot+`},{"type":"tool.execution_complete","data":{"toolCallId":"^c","success":true,"result":{"content":"~found it"}},`+copilot+`}]`,
		).inFile("events.jsonl"),
		of("openhands, events in lines", agentFamily, `["@"]`, openHands...).inFile("events.jsonl"),
		of("batch file, openai-chat", agentFamily, `["@"]`,
			`[{"custom_id":"~one","method":"POST","url":"/v1/chat/completions","body":{"model":"gpt-5","messages":[{"role":"user","content":"~please"}]}}]`,
			`[{"custom_id":"~two","method":"POST","url":"/v1/chat/completions","body":{"model":"gpt-5","messages":[{"role":"user","content":"~please"},{"role":"assistant","content":null,"tool_calls":[{"id":"^c","type":"function","function":{"name":"f","arguments":"{}"}}]}]}}]`,
		).inFile("batch.jsonl"),
		of("request log", agentFamily, `["@"]`,
			`[{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"~please"}]}]`,
			`[{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"~please"},{"role":"assistant","content":[{"type":"tool_use","id":"^c","name":"f","input":{}}]},{"role":"user","content":"~again"}]}]`,
			`[{"level":"info","msg":"~a line of a log","time":"#t"}]`,
		).inFile("requests.jsonl"),
	}
}

var openHands = []string{
	`[{"id":"#i","timestamp":"#t","source":"user","message":"~please look","action":"message","args":{"content":"~please look here","image_urls":[],"wait_for_response":false}}]`,
	`[{"id":"#i","timestamp":"#t","source":"agent","message":"~I see","action":"message","args":{"content":"~I see it","wait_for_response":true}}]`,
	`[{"id":"#i","timestamp":"#t","source":"agent","message":"~running","action":"run","args":{"command":"~ls here","thought":"~let me see"},"tool_call_metadata":{"function_name":"execute_bash","tool_call_id":"^c","model_response":{"choices":[{"message":{"role":"assistant","content":"~let me see","tool_calls":[{"id":"^c","type":"function","function":{"name":"execute_bash","arguments":"{}"}}]}}]}}},{"id":"#i","timestamp":"#t","source":"agent","message":"~ran","cause":1,"observation":"run","content":"~found it","extras":{"command":"~ls here"},"tool_call_metadata":{"function_name":"execute_bash","tool_call_id":"^c"}}]`,
}

// named is a shape of an agent whose file is called so.
func named(file, name, frame string, groups ...string) *shape {
	s := of(name, agentFamily, frame, groups...)
	s.file = file
	return s
}

// agentObjects are the session files of coding agents that are one object or one list.
func agentObjects() []*shape {
	return []*shape{
		of("gemini cli, one object", agentFamily, `{"sessionId":"a1b2c3d4-1111-4000-8000-000000000000","projectHash":"abc","startTime":"2026-11-01T09:59:00.000Z","lastUpdated":"2026-11-01T09:59:00.000Z","summary":"~what it was about","messages":["@"]}`,
			`[{"id":"#n","timestamp":"#t","type":"user","content":"~please look"}]`,
			`[{"id":"#n","timestamp":"#t","type":"gemini","content":"~I see","thoughts":[{"subject":"~a thought","description":"~in detail","timestamp":"#t"}],"model":"gemini-2.5-pro"}]`,
			`[{"id":"#n","timestamp":"#t","type":"gemini","content":"","toolCalls":[{"id":"^c","name":"read_file","args":{"path":"~a file"},"result":[{"functionResponse":{"id":"^c","name":"read_file","response":{"output":"~found it"}}}],"status":"success","timestamp":"#t"}],"model":"gemini-2.5-pro"}]`,
		),
		of("gemini cli, checkpoint", agentFamily, `["@"]`, geminiTurns[:5]...),
		named("api_conversation_history.json", "cline, api history", `["@"]`,
			`[{"role":"user","content":[{"type":"text","text":"~please look"},{"type":"text","text":"~the environment"}],"ts":1}]`,
			`[{"role":"assistant","content":[{"type":"text","text":"~I see"},{"type":"tool_use","id":"^c","name":"read_file","input":{"path":"~a file"}}],"ts":1,"modelInfo":{"modelId":"claude-sonnet-4-5","providerId":"anthropic","mode":"act"}},{"role":"user","content":[{"type":"tool_result","tool_use_id":"^c","content":[{"type":"text","text":"~found it"}]}],"ts":1}]`,
		),
		of("cline, messages", agentFamily, `{"version":1,"updated_at":"2026-11-01T09:59:00.000Z","agent":"lead","sessionId":"s1","system_prompt":"~be brief","messages":["@"]}`,
			`[{"id":"#n","role":"user","content":[{"type":"text","text":"~please look"}],"ts":1}]`,
			`[{"id":"#n","role":"assistant","content":[{"type":"text","text":"~I see"},{"type":"tool_use","id":"^c","name":"read_file","input":{"path":"~a file"}}],"ts":1,"modelInfo":{"id":"claude-sonnet-4-5","provider":"anthropic"}},{"id":"#n","role":"user","content":[{"type":"tool_result","tool_use_id":"^c","content":"~found it","name":"read_file"}],"ts":1}]`,
		),
		of("cline, ui messages", agentFamily, `["@"]`,
			`[{"ts":1,"type":"say","say":"text","text":"~please look"}]`,
			`[{"ts":1,"type":"ask","ask":"tool","text":"~a question"},{"ts":1,"type":"say","say":"user_feedback","text":"~yes"}]`,
		),
		of("continue", agentFamily, `{"sessionId":"s1","title":"~a talk","workspaceDirectory":"/home/dev/project","history":["@"]}`,
			`[{"message":{"role":"user","content":"~please look"},"contextItems":[{"content":"~a context","name":"~its name","description":"~what it is"}]}]`,
			`[{"message":{"role":"assistant","content":"~I see"},"contextItems":[]}]`,
			`[{"message":{"role":"assistant","content":"","toolCalls":[{"id":"^c","type":"function","function":{"name":"read","arguments":"{}"}}]},"contextItems":[],"toolCallStates":[{"toolCallId":"^c","status":"done","toolCall":{"id":"^c","type":"function","function":{"name":"read","arguments":"{}"}},"output":[{"content":"~found it","name":"~result","description":"~of a tool"}]}]}]`,
		),
		of("opencode, info and parts", agentFamily, `["@"]`,
			`[{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1}},"parts":[{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"text","text":"~please look"}]}]`,
			`[{"info":{"id":"msg_2","sessionID":"ses_1","role":"assistant","time":{"created":1},"modelID":"claude-sonnet-4-5","providerID":"anthropic"},"parts":[{"id":"prt_2","type":"step-start"},{"id":"prt_3","type":"reasoning","text":"~let me think"},{"id":"prt_4","type":"text","text":"~I see"}]}]`,
			`[{"info":{"id":"msg_3","sessionID":"ses_1","role":"assistant","time":{"created":1}},"parts":[{"id":"prt_5","type":"tool","callID":"^c","tool":"read","state":{"status":"completed","input":{"path":"~a file"},"output":"~found it","title":"~a title"}}]}]`,
			`[{"info":{"id":"msg_4","sessionID":"ses_1","role":"assistant","time":{"created":1}},"parts":[{"id":"prt_6","type":"tool","callID":"^c","tool":"read","state":{"status":"running","input":{"path":"~a file"}}}]}]`,
		),
		of("opencode, export", agentFamily, `{"info":{"id":"ses_1","title":"~a talk","directory":"/home/dev/project"},"messages":["@"]}`,
			`[{"info":{"id":"msg_1","role":"user"},"parts":[{"type":"text","text":"~please look"}]}]`,
			`[{"info":{"id":"msg_2","role":"assistant"},"parts":[{"type":"text","text":"~I see"},{"type":"tool","callID":"^c","tool":"read","state":{"status":"error","input":{"path":"~a file"},"error":"~it failed"}}]}]`,
		),
		of("openhands, list of events", agentFamily, `["@"]`, openHands...),
		of("openhands, conversation", agentFamily, `["@"]`,
			`[{"id":"#n","timestamp":"#t","source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":[{"type":"text","text":"~please look"}]}}]`,
			`[{"id":"#n","timestamp":"#t","source":"agent","kind":"ActionEvent","thought":[{"type":"text","text":"~let me see"}],"action":{"kind":"ExecuteBashAction","command":"~ls here"},"tool_name":"execute_bash","tool_call_id":"^c","tool_call":{"id":"^c","name":"execute_bash","arguments":"{}"}},{"id":"#n","timestamp":"#t","source":"environment","kind":"ObservationEvent","tool_name":"execute_bash","tool_call_id":"^c","observation":{"kind":"ExecuteBashObservation","content":[{"type":"text","text":"~found it"}]}}]`,
			`[{"id":"#n","timestamp":"#t","source":"agent","kind":"MessageEvent","llm_message":{"role":"assistant","content":[{"type":"text","text":"~I see"}]}}]`,
		),
		of("adk session", agentFamily, `{"id":"s1","appName":"app","userId":"~somebody","state":{"note":"~a state"},"events":["@"],"lastUpdateTime":1.5}`,
			`[{"id":"#n","invocationId":"e-1","author":"user","timestamp":1.5,"content":{"role":"user","parts":[{"text":"~please look"}]},"actions":{"stateDelta":{}}}]`,
			`[{"id":"#n","invocationId":"e-1","author":"agent","timestamp":1.5,"content":{"role":"model","parts":[{"text":"~I see"}]},"actions":{"stateDelta":{"k":"~a delta"}}}]`,
			`[{"id":"#n","invocationId":"e-1","author":"agent","timestamp":1.5,"content":{"role":"model","parts":[{"functionCall":{"id":"^c","name":"read","args":{"path":"~a file"}}}]},"longRunningToolIds":[]},{"id":"#n","invocationId":"e-1","author":"agent","timestamp":1.5,"content":{"role":"user","parts":[{"functionResponse":{"id":"^c","name":"read","response":{"output":"~found it"}}}]}}]`,
		),
		of("pi, live list", agentFamily, `["@"]`,
			`[{"role":"user","content":"~please look","timestamp":1}]`,
			`[{"role":"assistant","content":[{"type":"text","text":"~I see"}],"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","stopReason":"stop","timestamp":1}]`,
			`[{"role":"assistant","content":[{"type":"toolCall","id":"^c","name":"read","arguments":{"path":"~a file"}}],"stopReason":"toolUse","timestamp":1},{"role":"toolResult","toolCallId":"^c","toolName":"read","content":[{"type":"text","text":"~found it"}],"isError":false,"timestamp":1}]`,
			`[{"role":"assistant","content":[{"type":"text","text":"~one more"},{"type":"toolCall","id":"^c","name":"read","arguments":{"path":"~another"}}],"stopReason":"toolUse","timestamp":1}]`,
		),
	}
}
