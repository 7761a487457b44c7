package wire

import "github.com/pare-llm/pare/transcript"

func (responses) textBlock(role transcript.Role, raw []byte) []byte {
	if role == transcript.Assistant {
		return object("type", "output_text", "text", raw)
	}
	return object("type", "input_text", "text", raw)
}

// stub writes an output of the kind that the item wants.
func (responses) stub(d *draft, call transcript.BlockID, text string) []byte {
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

func (responses) idPath(d *draft, b transcript.BlockID, call bool) []string {
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

func (responses) contentPath(d *draft, b transcript.BlockID) []string {
	if d.memberIs(d.t.Block(b).Span, "type", "tool_search_output") {
		return []string{"tools"}
	}
	return []string{"output"}
}

func (responses) argsPath(*draft, transcript.BlockID) []string { return []string{"arguments"} }

func (g responses) sayResult(m *mender, b transcript.BlockID, text string) {
	switch blk := m.t.Block(b); {
	case !g.takesText(m.Request, blk):
	case blk.Body != blk.Span: // it is the last member of that name
		m.setResult(b, m.inQuotes(text))
	default:
		m.setMember(blk.Span, "output", quote(text))
	}
}

func (responses) sayCall(m *mender, b transcript.BlockID, text string) {
	switch blk := m.t.Block(b); blk.Family {
	case functionFamily:
		m.setMember(blk.Span, "arguments", quote(string(noteOf(text))))
	case customFamily:
		m.setMember(blk.Span, "input", quote(text))
	}
}

// takesText reports whether an item holds plain text. Its family tells its type, as far as
// that matters: the item may be long.
func (responses) takesText(r *Request, blk transcript.Block) bool {
	switch blk.Family {
	case functionFamily, customFamily:
		return true
	case localShellFamily:
		return blk.Kind == transcript.Result
	case toolSearchFamily:
		return blk.Kind == transcript.Result && r.memberIs(blk.Span, "type", "function_call_output")
	}
	return false
}

func (responses) freeForm(_ *Request, blk *transcript.Block) bool {
	return blk.Family == customFamily
}

// shown: a screenshot is an image; what else outputs show stands in messages as it is.
func (responses) shown(d *draft, item transcript.Span) []byte {
	if d.text(item, "type") != "computer_screenshot" {
		return common{}.shown(d, item)
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
func (responses) thinkingOff(m *mender, f *Finding) {
	if m.setBodyMember("reasoning", []byte(`{"effort":"none"}`)) {
		m.logHead(f, "edit", "reasoning", 0, "reasoning is switched off for this request: the reasoning of a run of calls is lost")
	}
}
