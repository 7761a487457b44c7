package hosts

import "strings"

// shareGPT describes conversations of data sets in the form of ShareGPT, as trainers read them
// (LLaMA-Factory, Axolotl, the function calling sets of Hermes). A call is a separate message, or
// is enclosed in tags in an assistant message.
var shareGPT = shape{
	name: "sharegpt", strictTurns: true, resultsAdjacent: true, matchesByName: true, description: "conversations in the form of ShareGPT",
	listMembers: []string{"conversations", "conversation"}, messageMember: noMember, contentPath: always("value"),
	identifies: func(o object) bool {
		return shareGPTRole(o.text("from")) != roleUnknown && firstByte(o.bytes("value")) == '"'
	},
	roleOf: func(_, m object) role { return shareGPTRole(m.text("from")) },
	wholePart: func(m object) *partSpec {
		switch m.text("from") {
		case "function_call", "tool_call":
			return &shareGPTCall
		case "observation", "tool", "function_response", "tool_response", "function":
			return &shareGPTResult
		}
		if shareGPTRole(m.text("from")) == roleAssistant && strings.Contains(m.text("value"), "<tool_call>") {
			return &shareGPTCall
		}
		return nil
	},
	newResult: func(near object, _ string, _ *unit, said []byte) []byte {
		switch near.text("from") {
		case "function_call":
			return write("from", "observation", "value", said)
		case "tool_call":
			return write("from", "tool_response", "value", said)
		}
		return write("from", "tool", "value", said)
	},
	newMessage: func(near object, _ string, who role, said []byte) []byte {
		names := map[role]string{roleUser: "human", roleAssistant: "gpt"}
		if from := near.text("from"); from == "user" || from == "assistant" {
			names = map[role]string{roleUser: "user", roleAssistant: "assistant"}
		}
		return write("from", names[who], "value", said)
	},
}

var (
	shareGPTCall   = partSpec{kind: kindCall, inputPath: "value"}
	shareGPTResult = partSpec{kind: kindResult, outputPath: "value"}
)

func shareGPTRole(from string) role {
	switch from {
	case "human", "user", "observation", "tool", "function_response", "tool_response", "function":
		return roleUser
	case "gpt", "assistant", "chatgpt", "bing", "bard", "model", "function_call", "tool_call":
		return roleAssistant
	case "system":
		return roleSystem
	}
	return roleUnknown
}
