package dialect

import "github.com/pare-llm/pare/transcript"

// stub writes an output of the kind that the item wants.
func (responsesPen) stub(d *draft, call transcript.BlockID, text string) []byte {
	blk := d.t.Block(call)
	typ := d.text(blk.Span, "type")
	var members []any
	switch typ {
	case "function_call", "custom_tool_call", "local_shell_call":
		members = []any{"type", typ + "_output", "call_id", blk.CallID, "output", text}
	case "apply_patch_call":
		members = []any{"type", "apply_patch_call_output", "call_id", blk.CallID, "status", "failed", "output", text}
	case "shell_call":
		outcome := object("stdout", "", "stderr", text, "outcome", object("type", "exit", "exit_code", []byte("1")))
		members = []any{"type", "shell_call_output", "call_id", blk.CallID, "output", array(outcome)}
	case "tool_search_call":
		members = []any{"type", "function_call_output", "call_id", blk.CallID, "output", text}
	default:
		return nil // a screenshot or a program's output cannot be made up
	}
	if caller, ok := d.member(blk.Span, "caller"); ok && d.raw[caller.Start] == '{' {
		members = append(members, "caller", d.t.Bytes(caller)) // who called is who is answered
	}
	return object(members...)
}

func (responsesPen) idPath(d *draft, b transcript.BlockID, call bool) []string {
	switch {
	case d.t.Block(b).Family == localShellFamily && !call && d.namedByItem(b):
		return []string{"id"}
	case d.t.Block(b).Family != approvalFamily:
		return []string{"call_id"}
	case call:
		return []string{"id"}
	}
	return []string{"approval_request_id"}
}

// namedByItem reports whether the output of a local shell names its call by the id of the
// item: it has no call_id.
func (d *draft) namedByItem(b transcript.BlockID) bool {
	at := d.t.Block(b).Span
	own, ok := d.member(at, "call_id")
	id, named := d.member(at, "id")
	return (!ok || d.raw[own.Start] == 'n') && named && d.raw[id.Start] == '"' && d.text(at, "type") == "local_shell_call_output"
}

func (responsesPen) contentPath(d *draft, b transcript.BlockID) []string {
	if d.memberIs(d.t.Block(b).Span, "type", "tool_search_output") {
		return []string{"tools"}
	}
	return []string{"output"}
}

func (responsesPen) argsPath(*draft, transcript.BlockID) []string { return []string{"arguments"} }

func (responsesPen) sayResult(m *repairer, b transcript.BlockID, text string) {
	switch blk := m.t.Block(b); {
	case !m.g.takesText(m.Request, blk):
	case blk.Body != blk.Span: // it is the last member of that name
		m.setResult(b, m.inQuotes(text))
	default:
		m.setMember(blk.Span, "output", quote(text))
	}
}

func (responsesPen) sayCall(m *repairer, b transcript.BlockID, text string) {
	switch blk := m.t.Block(b); blk.Family {
	case functionFamily:
		m.setMember(blk.Span, "arguments", quote(string(noteOf(text))))
	case customFamily:
		m.setMember(blk.Span, "input", quote(text))
	}
}

// shown: a screenshot is an image; what else outputs show stands in messages as it is.
func (responsesPen) shown(d *draft, item transcript.Span) []byte {
	if d.text(item, "type") != "computer_screenshot" {
		return commonPen{}.shown(d, item)
	}
	image := []any{"type", "input_image"}
	for _, name := range []string{"image_url", "file_id", "detail"} {
		if v, ok := d.member(item, name); ok && d.raw[v.Start] == '"' {
			image = append(image, name, d.t.Bytes(v))
		}
	}
	if len(image) == 2 {
		return nil
	}
	return object(image...)
}

// thinkingOff switches reasoning off.
func (responsesPen) thinkingOff(m *repairer, f *Finding) {
	if m.setBodyMember("reasoning", []byte(`{"effort":"none"}`)) {
		m.logHead(f, ActionEdit, "reasoning", 0, "reasoning is switched off for this request: the reasoning of a run of calls is lost")
	}
}
