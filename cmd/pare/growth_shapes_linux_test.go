package main

import (
	"fmt"
	"strings"
)

// An inputFormat is a kind of input that a command reads.
type inputFormat int

const (
	requestBody inputFormat = iota
	agentSession
	callLines // of pare lines
	plainInput
)

// A growthShape makes inputs of one shape in any size.
type growthShape struct {
	name   string
	format inputFormat
	suffix string // of the file
	path   string // of the request, for a server
	build  func(units int) []byte
}

var growthShapes = []growthShape{
	{"read_file pairs, Anthropic", requestBody, ".json", "/v1/messages", anthropicBody(readPair)},
	{"dense chat, Anthropic", requestBody, ".json", "/v1/messages", anthropicBody(denseTurn)},
	{"edits of few files, Anthropic", requestBody, ".json", "/v1/messages", anthropicBody(editPair)},
	{"lost results, Anthropic", requestBody, ".json", "/v1/messages", anthropicBody(lostResult)},
	{"calls of one turn, Anthropic", requestBody, ".json", "/v1/messages", parallelCalls},
	{"one giant result, Anthropic", requestBody, ".json", "/v1/messages", giantResult},
	{"one tool loop, Chat", requestBody, ".json", "/v1/chat/completions", chatBody(chatPair)},
	{"small messages, Chat", requestBody, ".json", "/v1/chat/completions", chatBody(smallTurn)},
	{"members that stand twice, Chat", requestBody, ".json", "/v1/chat/completions", repeatedMembers},
	{"read_file pairs, Responses", requestBody, ".json", "/v1/responses", responsesBody},
	{"session of Claude Code", agentSession, ".jsonl", "", claudeSession},
	{"session of Codex", agentSession, ".jsonl", "", codexSession},
	{"session of pi", agentSession, ".jsonl", "", piSession},
	{"calls of fit", callLines, ".jsonl", "", callLine("fit", `{"max_tokens":20000,"low":"50%","cold":true}`)},
	{"calls of compact", callLines, ".jsonl", "", callLine("compact", `{}`)},
	{"calls of split and pairs", callLines, ".jsonl", "", callLine("pairs", `{}`)},
	{"one long text", plainInput, ".txt", "", func(units int) []byte { return []byte(fileText(1, 10*units)) }},
}

// replayGrowth is the exponent of replay: it plans every request of a history, and each of them
// has all messages before it.
const replayGrowth = 2.1

// growthCommands are all commands that read a history, with the flags that change how much work
// they do.
var growthCommands = []growthCommand{
	{args: "check FILE"},
	{args: "check --json --pairs --advice --strict FILE"},
	{args: "fix -o OUT FILE"},
	{args: "fix --orphan-call drop --orphan-result drop --receipt OUT.jsonl -o OUT FILE"},
	{args: "fix --dry-run FILE"},
	{args: "prune -o OUT FILE"},
	{args: "prune --receipt OUT.jsonl --keep-recent 1 -o OUT FILE"},
	{args: "trim --max-tokens 20000 -o OUT FILE"},
	{args: "trim --max-tokens BUDGET -o OUT FILE"},
	{args: "trim --max-tokens 20000 --low 50% -o OUT FILE"},
	{args: "trim --max-tokens BUDGET --low 50% -o OUT FILE"},
	{args: "trim --max-tokens 20000 --cold -o OUT FILE"},
	{args: "trim --max-tokens 20000 --low 50% --cold -o OUT FILE"},
	{args: "trim --max-tokens BUDGET --low 50% --cold -o OUT FILE"},
	{args: "trim --max-tokens 20000 --cache -o OUT FILE"},
	{args: "trim --max-tokens 20000 --cache --cold -o OUT FILE"},
	{args: "trim --max-tokens 20000 --order middle -o OUT FILE"},
	{args: "trim --max-tokens 20000 --order priority --priority read_file=2 -o OUT FILE"},
	{args: "trim --max-tokens 20000 --unmarked --archive ARCHIVE -o OUT FILE"},
	{args: "trim --max-tokens 20000 --summarize -o OUT FILE"},
	{args: "trim --max-tokens 20000 --low 50% --summarize --archive ARCHIVE -o OUT FILE"},
	{args: "trim --max-tokens 20000 --tokenizer exact -o OUT FILE"},
	{args: "trim --max-turns 4 --allow-tiny -o OUT FILE"},
	{args: "trim --max-messages 20 --allow-tiny -o OUT FILE"},
	{args: "trim --max-messages 20 --allow-tiny --low 50% -o OUT FILE"},
	{args: "trim --max-exchanges 10 --allow-tiny -o OUT FILE"},
	{args: "compact -o OUT FILE"},
	{args: "compact --inside --min-keep 2 --archive ARCHIVE -o OUT FILE"},
	{args: "compact --inside --offload --archive ARCHIVE -o OUT FILE"},
	{args: "split --json FILE"},
	{args: "split --inside --head OUT.head --tail OUT.tail FILE"},
	{args: "count FILE"},
	{args: "count --by-message --tokenizer exact FILE"},
	{args: "view -o OUT FILE"},
	{args: "view --text -o OUT FILE"},
	{args: "view --text --plan fix -o OUT FILE"},
	{args: "view --text --plan prune -o OUT FILE"},
	{args: "view --text --plan compact -o OUT FILE"},
	{args: "replay --policy everything FILE", most: replayGrowth},
	{args: "replay --policy keep --policy mask FILE", most: replayGrowth},
	{args: "replay --policy opencode --policy cline --policy compact FILE", most: replayGrowth},
	{args: "replay --policy oracle FILE", most: replayGrowth},
	{args: "replay --policy shorten --policy prune FILE", most: replayGrowth},
	{args: "replay --policy trim FILE", most: replayGrowth},
	{args: "replay --policy trim:low --policy trim:cache FILE", most: replayGrowth},
	{args: "replay --policy trim:cold,shorten FILE", most: replayGrowth},
	{args: "serve", serves: true},
	{args: "serve --cold", serves: true},
	{args: "serve --cold --recall --prune", serves: true},
	{args: "serve --remember --store OUT.db", serves: true},
	{args: "check FILE", format: agentSession},
	{args: "fix --force -o OUT FILE", format: agentSession},
	{args: "trim --max-tokens 20000 -o OUT FILE", format: agentSession},
	{args: "count FILE", format: agentSession},
	{args: "view -o OUT FILE", format: agentSession},
	{args: "lines", format: callLines},
	{args: "shorten", format: plainInput},
}

// growthSample is what make test tries.
var growthSample = []string{
	"fix -o OUT on lost results, Anthropic",
	"trim --max-tokens 20000 --low 50% --cold -o OUT on read_file pairs, Anthropic",
	"prune -o OUT on edits of few files, Anthropic",
}

// fileText is a text of so many lines, which names things that other texts name as well.
func fileText(seed, lines int) string {
	var b strings.Builder
	for i := range lines {
		n := (seed*7919 + i*104729) % 9973
		fmt.Fprintf(&b, "func name%d(value%d int) error { return call%d(value%d) }\n", n, n%97, seed, n%89)
	}
	return b.String()
}

// anthropicBody makes bodies of the Messages API from a function that writes a unit of messages.
func anthropicBody(unit func(i int) string) func(int) []byte {
	return func(units int) []byte {
		var b strings.Builder
		b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"Improve the program."}`)
		for i := range units {
			b.WriteString(unit(i))
		}
		b.WriteString(`,{"role":"assistant","content":"That is done."},{"role":"user","content":"Go on."}]}`)
		return []byte(b.String())
	}
}

func readPair(i int) string {
	return fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"read_file","input":{"path":"src/file%d.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]}`, i, i, i, fileText(i, 14))
}

func denseTurn(i int) string {
	return fmt.Sprintf(`,{"role":"assistant","content":"We decided to keep name%d in src/file%d.go, as value%d needs it."},{"role":"user","content":"Please look at call%d in src/file%d.go and say why it fails."}`, i, i, i%97, i, i)
}

// editPair edits and reads the same few files again and again; each tenth call fails.
func editPair(i int) string {
	file := i % 7
	failed := ""
	if i%10 == 9 {
		failed = `,"is_error":true`
	}
	return fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_e%d","name":"edit_file","input":{"path":"src/file%d.go","old_string":"name%d","new_string":%q}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_e%d","content":"ok"%s}]}`, i, file, i, fileText(i, 4), i, failed) +
		fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_r%d","name":"read_file","input":{"path":"src/file%d.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_r%d","content":%q}]}`, i, file, i, fileText(file, 10))
}

// lostResult is a call without a result, and a result without a call.
func lostResult(i int) string {
	return fmt.Sprintf(`,{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_%d","name":"read_file","input":{"path":"src/file%d.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"gone_%d","content":%q}]}`, i, i, i, fileText(i, 3))
}

func parallelCalls(units int) []byte {
	var calls, results strings.Builder
	for i := range units {
		fmt.Fprintf(&calls, `,{"type":"tool_use","id":"toolu_%d","name":"read_file","input":{"path":"src/file%d.go"}}`, i, i)
		fmt.Fprintf(&results, `,{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}`, i, fileText(i, 10))
	}
	return anthropicBody(func(int) string {
		return `,{"role":"assistant","content":[` + calls.String()[1:] + `]},{"role":"user","content":[` + results.String()[1:] + `]}`
	})(1)
}

func giantResult(units int) []byte {
	return anthropicBody(func(i int) string {
		if i > 0 {
			return readPair(i)
		}
		return fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_0","name":"read_file","input":{"path":"all.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_0","content":%q}]}`, fileText(1, 10*units))
	})(20)
}

func chatBody(unit func(i int) string) func(int) []byte {
	return func(units int) []byte {
		var b strings.Builder
		b.WriteString(`{"model":"gpt-4.1","messages":[{"role":"system","content":"You are a coding agent."},{"role":"user","content":"Improve the program."}`)
		for i := range units {
			b.WriteString(unit(i))
		}
		b.WriteString("]}")
		return []byte(b.String())
	}
}

func chatPair(i int) string {
	return fmt.Sprintf(`,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"shell","arguments":"{\"command\":\"cat src/file%d.go\"}"}}]},{"role":"tool","tool_call_id":"call_%d","content":%q}`, i, i, i, fileText(i, 10))
}

func smallTurn(i int) string {
	return fmt.Sprintf(`,{"role":"assistant","content":"yes %d"},{"role":"user","content":"ok %d"}`, i, i)
}

func repeatedMembers(units int) []byte {
	return []byte(`{"model":"gpt-4.1",` + strings.Repeat(`"user":"u",`, units) + string(chatBody(smallTurn)(units))[1:])
}

func responsesBody(units int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"gpt-5","input":[{"role":"user","content":"Improve the program."}`)
	for i := range units {
		fmt.Fprintf(&b, `,{"type":"function_call","call_id":"call_%d","name":"read_file","arguments":"{\"path\":\"src/file%d.go\"}"},{"type":"function_call_output","call_id":"call_%d","output":%q}`, i, i, i, fileText(i, 10))
	}
	b.WriteString(`,{"role":"user","content":"Go on."}]}`)
	return []byte(b.String())
}

// claudeSession is a session in which every fourth result is lost.
func claudeSession(units int) []byte {
	var b strings.Builder
	parent := "null"
	line := func(id, kind, message string) {
		fmt.Fprintf(&b, `{"parentUuid":%s,"uuid":%q,"sessionId":"s","cwd":"/src","version":"2.1.0","timestamp":"2026-01-01T00:00:00.000Z","type":%q,"message":%s}`+"\n", parent, id, kind, message)
		parent = fmt.Sprintf("%q", id)
	}
	line("u", "user", `{"role":"user","content":"Improve the program."}`)
	for i := range units {
		line(fmt.Sprintf("a%d", i), "assistant", fmt.Sprintf(`{"id":"msg_%d","type":"message","model":"claude-sonnet-4-5","role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":"/src/file%d.go"}}],"usage":{"input_tokens":10,"output_tokens":10}}`, i, i, i))
		if i%4 != 3 {
			line(fmt.Sprintf("r%d", i), "user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]}`, i, fileText(i, 10)))
		}
	}
	return []byte(b.String())
}

func codexSession(units int) []byte {
	var b strings.Builder
	b.WriteString(`{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"019a0000-0000-7000-8000-000000000000","cwd":"/src","cli_version":"0.60.0"}}` + "\n")
	b.WriteString(`{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Improve the program."}]}}` + "\n")
	for i := range units {
		fmt.Fprintf(&b, `{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"cat\",\"file%d.go\"]}","call_id":"call_%d"}}`+"\n", i, i)
		if i%4 != 3 {
			fmt.Fprintf(&b, `{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"call_%d","output":%q}}`+"\n", i, fileText(i, 10))
		}
	}
	return []byte(b.String())
}

func piSession(units int) []byte {
	var b strings.Builder
	b.WriteString(`{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/src"}` + "\n")
	parent := "null"
	line := func(id, message string) {
		fmt.Fprintf(&b, `{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":%s}`+"\n", id, parent, message)
		parent = fmt.Sprintf("%q", id)
	}
	line("u", `{"role":"user","content":[{"type":"text","text":"Improve the program."}]}`)
	for i := range units {
		line(fmt.Sprintf("a%d", i), fmt.Sprintf(`{"role":"assistant","content":[{"type":"toolCall","id":"call_%d","name":"read","arguments":{"path":"file%d.go"}}],"model":"claude-sonnet-4-5"}`, i, i))
		if i%4 != 3 {
			line(fmt.Sprintf("r%d", i), fmt.Sprintf(`{"role":"toolResult","toolCallId":"call_%d","toolName":"read","content":[{"type":"text","text":%q}]}`, i, fileText(i, 10)))
		}
	}
	return []byte(b.String())
}

func callLine(name, options string) func(int) []byte {
	body := anthropicBody(readPair)
	return func(units int) []byte {
		return fmt.Appendf(nil, `{"call":%q,"options":%s,"body":%s}`+"\n", name, options, body(units))
	}
}
