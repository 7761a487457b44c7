package recall

import (
	"fmt"
	"strings"
	"testing"
)

// TestInteractionSteps: what comes in pieces goes back to the provider as whole steps, with
// thoughts, signatures, media and what the provider has run itself.
func TestInteractionSteps(t *testing.T) {
	var stream strings.Builder
	send := func(kind, members string) {
		fmt.Fprintf(&stream, "event: %s\ndata: {\"event_type\":%q,%s}\n\n", kind, kind, members)
	}
	at := 0
	step := func(start string, deltas ...string) {
		send("step.start", fmt.Sprintf(`"index":%d,"step":%s`, at, start))
		for _, d := range deltas {
			send("step.delta", fmt.Sprintf(`"index":%d,"delta":%s`, at, d))
		}
		send("step.stop", fmt.Sprintf(`"index":%d`, at))
		at++
	}
	send("interaction.created", `"interaction":{"id":"one","status":"in_progress"}`)
	send("interaction.status_update", `"interaction_id":"one","status":"in_progress"`)
	step(`{"type":"thought"}`, `{"type":"thought_summary","content":{"type":"text","text":"Hm."}}`, `{"type":"thought_signature","signature":"ab"}`, `{"type":"thought_signature","signature":"cd"}`)
	step(`{"type":"code_execution_call","id":"x"}`, `{"type":"code_execution_call","arguments":{"code":"1+1"},"signature":"s"}`)
	step(`{"type":"model_output"}`, `{"type":"text","text":"One "}`, `{"type":"text","text":"two."}`, `{"type":"text_annotation_delta","annotations":[{"type":"url_citation","url":"u"}]}`, `{"type":"image","data":"AA==","mime_type":"image/png"}`, `{"type":"text","text":"Three."}`)
	step(`{"type":"function_call","id":"c","name":"pare_recall","arguments":{}}`, `{"type":"arguments_delta","arguments":"{\"handle\":"}`, `{"type":"arguments_delta","arguments":"\"h\"}"}`)
	passed := stream.Len()
	send("interaction.status_update", `"interaction_id":"one","status":"requires_action"`)
	send("interaction.completed", `"interaction":{"id":"one","status":"requires_action","usage":{"total_output_tokens":7,"total_thought_tokens":2}}`)
	stream.WriteString("event: done\ndata: [DONE]\n\n")

	f := interactions{}.Stream()
	out, turns := through(t, f, &lines{}, stream.String())
	want := `[{"type":"thought","summary":[{"type":"text","text":"Hm."}],"signature":"abcd"} ` +
		`{"type":"code_execution_call","id":"x","arguments":{"code":"1+1"},"signature":"s"} ` +
		`{"type":"model_output","content":[{"type":"text","text":"One two.","annotations":[{"type":"url_citation","url":"u"}]},{"type":"image","data":"AA==","mime_type":"image/png"},{"type":"text","text":"Three."}]} ` +
		`{"type":"function_call","id":"c","name":"pare_recall","arguments":{"handle":"h"}}]`
	if got := fmt.Sprintf("%s", turns[0].Said); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if !turns[0].Alone() || turns[0].Output != 9 || turns[0].Calls[0].Handle != "h" {
		t.Errorf("%+v", turns[0])
	}
	// Nobody answers the call: the client sees an interaction that is complete.
	ours := strings.Index(stream.String(), `event: step.start`+"\n"+`data: {"event_type":"step.start","index":3`)
	end := strings.NewReplacer("requires_action", "completed").Replace(stream.String()[passed:])
	if string(out) != stream.String()[:ours]+end {
		t.Errorf("%s", out)
	}
}

// TestInteractionOffer: where the server keeps the history, or has other tools than
// functions, there is no tool.
func TestInteractionOffer(t *testing.T) {
	for body, want := range map[string]bool{
		`{"store":false,"input":[]}`: true,
		`{"store":false,"input":[],"tools":[{"type":"function","name":"f"},{"type":"google_search"}]}`:          true,
		`{"store":false,"input":[],"response_format":{"type":"text"},"tools":[{"type":"function","name":"f"}]}`: true,
		`{"input":[]}`:                                                  false,
		`{"store":true,"input":[]}`:                                     false,
		`{"store":false,"input":"hello"}`:                               false,
		`{"store":false,"background":true,"input":[]}`:                  false,
		`{"store":false,"agent":"a","input":[]}`:                        false,
		`{"store":false,"cached_content":"c","input":[]}`:               false,
		`{"store":false,"input":[],"tools":[{"type":"google_search"}]}`: false,
		`{"store":false,"input":[],"response_format":{"type":"text"}}`:  false,
	} {
		out, ok := interactions{}.Offer([]byte(body))
		if ok != want || strings.Contains(string(out), Tool) != want || !want && string(out) != body {
			t.Errorf("%s: %v, %s", body, ok, out)
		}
	}
}
