package hosts

import "strings"

// Conversations of data sets in the form of ShareGPT, as trainers read them (LLaMA-Factory, Axolotl, the function
// calling sets of Hermes): a call is a message of its own, or in tags in one of the model's.
var shareGPT = shape{
	name: "sharegpt", strict: true, adjacent: true, nameless: true, doc: "conversations in the form of ShareGPT",
	lists: []string{"conversations", "conversation"}, inner: itself, content: under("value"),
	proof: func(o object) bool { return shareGPTRole(o.text("from")) != nobody && first(o.bytes("value")) == '"' },
	role:  func(_, m object) role { return shareGPTRole(m.text("from")) },
	whole: func(m object) *part {
		switch m.text("from") {
		case "function_call", "tool_call":
			return &shareGPTCall
		case "observation", "tool", "function_response", "tool_response", "function":
			return &shareGPTResult
		}
		if shareGPTRole(m.text("from")) == assistant && strings.Contains(m.text("value"), "<tool_call>") {
			return &shareGPTCall
		}
		return nil
	},
	stub: func(near object, _ string, _ *unit, said []byte) []byte {
		switch near.text("from") {
		case "function_call":
			return write("from", "observation", "value", said)
		case "tool_call":
			return write("from", "tool_response", "value", said)
		}
		return write("from", "tool", "value", said)
	},
	says: func(near object, _ string, who role, said []byte) []byte {
		names := map[role]string{user: "human", assistant: "gpt"}
		if from := near.text("from"); from == "user" || from == "assistant" {
			names = map[role]string{user: "user", assistant: "assistant"}
		}
		return write("from", names[who], "value", said)
	},
}

var (
	shareGPTCall   = part{kind: call, in: "value"}
	shareGPTResult = part{kind: result, out: "value"}
)

func shareGPTRole(from string) role {
	switch from {
	case "human", "user", "observation", "tool", "function_response", "tool_response", "function":
		return user
	case "gpt", "assistant", "chatgpt", "bing", "bard", "model", "function_call", "tool_call":
		return assistant
	case "system":
		return system
	}
	return nobody
}
