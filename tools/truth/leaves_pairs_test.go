package truth

import (
	"slices"
	"strings"
)

// A toolHalf is a call or a result, as the documentation of a form has it.
type toolHalf struct {
	call    bool
	id      string
	name    string   // of the tool; "": the form does not keep it there
	markers []string // of the arguments, or the output
}

// halvesOf lists the calls and results of a document in their order. It is written from the documentation of the
// providers and hosts, and uses nothing of the product.
func halvesOf(n *node) (all []toolHalf) {
	switch n.kind {
	case 'a':
		for _, v := range n.vals {
			all = append(all, halvesOf(v)...)
		}
	case 'o':
		h, inside := halfOf(n)
		if inside != nil {
			h.markers = markers.FindAllString(string(inside.write(nil)), -1)
			all = append(all, h)
		}
		for i, v := range n.vals {
			switch n.keys[i] {
			case "additional_kwargs", "tool_call_chunks": // copies for others
			case "input", "arguments", "args", "output", "result", "response", "parameters", "content":
				if inside == nil || v != inside {
					all = append(all, halvesOf(v)...)
				}
			default:
				all = append(all, halvesOf(v)...)
			}
		}
	}
	return all
}

// at returns the value at the end of a path, an empty one if there is none.
func (n *node) at(path ...string) *node {
	for _, key := range path {
		if n = n.get(key); n == nil {
			return &node{}
		}
	}
	return n
}

// halfOf reads an object as a call or a result, with the value that it is about; nil if it is neither.
func halfOf(o *node) (h toolHalf, inside *node) {
	call := func(id, name string, in *node) (toolHalf, *node) { return toolHalf{call: true, id: id, name: name}, in }
	result := func(id, name string, out *node) (toolHalf, *node) { return toolHalf{id: id, name: name}, out }
	text := func(path ...string) string { return o.at(path...).text }
	if o.get("schema") != nil {
		switch text("type") {
		case "tool_call":
			return call(text("metadata", "tool_call_id"), text("payload", "tool_name"), o.at("payload", "parameters"))
		case "tool_result":
			return result(text("metadata", "tool_call_id"), text("payload", "tool_name"), o)
		}
		return h, nil
	}
	switch text("type") {
	case "tool_use":
		return call(text("id"), text("name"), o.at("input"))
	case "tool_result":
		return result(text("tool_use_id"), text("name"), o.at("content"))
	case "tool-call":
		return call(text("toolCallId"), text("toolName"), o.at("input"))
	case "tool-result":
		return result(text("toolCallId"), text("toolName"), o.at("output"))
	case "toolCall":
		return call(text("id"), text("name"), o.at("arguments"))
	case "function_call", "custom_tool_call":
		in := o.at("arguments")
		if o.get("input") != nil {
			in = o.at("input")
		}
		for _, key := range []string{"call_id", "callId", "id"} {
			if o.get(key) != nil {
				return call(text(key), text("name"), in)
			}
		}
		return call("", text("name"), in)
	case "function_call_output", "custom_tool_call_output", "function_call_result":
		return result(text("call_id")+text("callId"), text("name"), o.at("output"))
	case "function_result":
		return result(text("call_id"), text("name"), o.at("result"))
	case "function":
		return call(text("id"), text("function", "name"), o.at("function", "arguments"))
	case "tool_call":
		return call(text("id"), text("name"), o.at("args"))
	}
	switch {
	case text("role") == "tool" && o.get("tool_call_id") != nil, text("type") == "tool" && o.get("tool_call_id") != nil:
		return result(text("tool_call_id"), text("name"), o.at("content"))
	case text("role") == "toolResult":
		return result(text("toolCallId"), text("toolName"), o.at("content"))
	case o.at("toolUse").kind == 'o':
		return call(text("toolUse", "toolUseId"), text("toolUse", "name"), o.at("toolUse", "input"))
	case o.at("toolResult").kind == 'o':
		return result(text("toolResult", "toolUseId"), "", o.at("toolResult", "content"))
	case o.at("functionCall").kind == 'o':
		return call(text("functionCall", "id"), text("functionCall", "name"), o.at("functionCall", "args"))
	case o.at("functionResponse").kind == 'o':
		return result(text("functionResponse", "id"), text("functionResponse", "name"), o.at("functionResponse", "response"))
	}
	return h, nil
}

// callOf returns the call that a result answers: the latest before it with its id or, without ids, the first of its
// name that has no answer; -1 if there is none.
func callOf(all []toolHalf, r int, answered map[int]bool) int {
	if all[r].id != "" {
		for i := r - 1; i >= 0; i-- {
			if all[i].call && all[i].id == all[r].id {
				return i
			}
		}
		return -1
	}
	for i := range r {
		if all[i].call && all[i].id == "" && all[i].name == all[r].name && !answered[i] {
			answered[i] = true
			return i
		}
	}
	return -1
}

// strangers lists the results of an output that answer a call of another tool, by the names that both have in the
// input. A result whose id was that of the call in the input is the call's.
func strangers(in, out *node) (found []string) {
	before, after := halvesOf(in), halvesOf(out)
	origin := func(h *toolHalf) *toolHalf {
		for i := range before {
			if before[i].call == h.call && slices.ContainsFunc(before[i].markers, func(m string) bool { return slices.Contains(h.markers, m) }) {
				return &before[i]
			}
		}
		return nil
	}
	answered := map[int]bool{}
	for r := range after {
		if after[r].call {
			continue
		}
		c := callOf(after, r, answered)
		if c < 0 {
			continue
		}
		result, call := origin(&after[r]), origin(&after[c])
		if result == nil || call == nil || result.name == "" || call.name == "" || result.name == call.name || result.id != "" && result.id == call.id {
			continue
		}
		found = append(found, strings.Join([]string{"a result of", result.name, "answers a call of", call.name}, " "))
	}
	return found
}
