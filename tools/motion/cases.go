package main

import (
	"fmt"
	"strings"
)

// An input is one file that commands are tried on.
type input struct {
	name string // where it is from
	file string // name in the folder of a case
	data []byte
}

// A command is a way to call the program. IN is the input, and N% is that share of its tokens,
// guessed from its bytes.
type command string

// looking commands write nothing.
var looking = []command{
	"check IN", "check --json IN", "check --strict --json IN", "check --advice IN", "check --strict --advice --color=always IN", "check < IN",
	"count IN", "count --json --by-message IN", "count --tokenizer o200k IN",
	"split IN", "split --json --min-keep 2 IN", "split --json --inside --min-keep 1 IN",
}

// changing commands are tried on everything.
var changing = []command{
	"fix --receipt r.jsonl -o out.json IN", "fix < IN", "fix --strict --receipt r.jsonl -o out.json IN", "fix -n IN", "fix -n --json IN",
	"fix --orphan-call drop --orphan-result drop --receipt r.jsonl -o out.json IN", "fix --keep-open -n --json IN",
	"prune --receipt r.jsonl -o out.json IN", "prune --keep-recent 0 --receipt r.jsonl -o out.json IN", "prune -n IN", "prune -n --json --keep-recent 2 IN",
	"prune --rules deduplication,superseded-writes,error-purging IN",
	"trim --max-messages 100 --receipt r.jsonl -o out.json IN", "trim --max-exchanges 12 --receipt r.jsonl -o out.json IN",
	"trim --max-turns 4 --receipt r.jsonl -o out.json IN", "trim --max-tokens 100% --receipt r.jsonl -o out.json IN", "trim IN",
	"compact --receipt r.jsonl --archive a.jsonl -o out.json IN", "compact --min-keep 2 --inside -n --json IN",
}

// windows are tried on single bodies: one that does not fit keeps a batch from being
// written.
var windows = []command{
	"trim --max-messages 2 --receipt r.jsonl -o out.json IN", "trim --max-messages 5 --receipt r.jsonl -o out.json IN", "trim --max-messages 9 -n IN", "trim --max-messages 4 --strict IN",
	"trim --max-exchanges 0 --receipt r.jsonl -o out.json IN", "trim --max-exchanges 1 --receipt r.jsonl -o out.json IN", "trim --max-exchanges 3 --order middle -n --json IN",
	"trim --max-turns 1 --receipt r.jsonl -o out.json IN", "trim --max-turns 2 --min-keep 3 --receipt r.jsonl -o out.json IN",
	"trim --max-tokens 80% --receipt r.jsonl -o out.json IN", "trim --max-tokens 50% --receipt r.jsonl --archive a.jsonl -o out.json IN", "trim --max-tokens 25% --recent 2 --receipt r.jsonl -o out.json IN",
	"trim --max-tokens 10% --json IN", "trim --max-tokens 50% --order priority --priority Read=-1 --priority W*=2 --receipt r.jsonl -o out.json IN",
	"trim --max-tokens 30% --unpin task,newest --min-keep 2 --receipt r.jsonl -o out.json IN", "trim --max-tokens 1 --allow-tiny IN",
	"trim --max-tokens 60% --low 50% --receipt r.jsonl -o out.json IN", "trim --max-tokens 60% --cache -n --json IN", "trim --max-tokens 50% --low 30% --rules deduplication,superseded-writes --keep-recent 2 -n IN",
	"trim --max-tokens 50% --tokenizer cl100k --receipt r.jsonl -o out.json IN", "trim --max-messages 4 --keep-recent 2 --receipt r.jsonl -o out.json IN",
	"compact --min-keep 2 --receipt r.jsonl -o out.json IN", "compact --min-keep 1 --inside --fold-task --receipt r.jsonl --archive a.jsonl -o out.json IN",
	"compact --min-keep 2 --inside --offload --archive a.jsonl --receipt r.jsonl -o out.json IN", "compact --min-keep 2 --summary what-was-said --conserve 0.9 IN",
	"compact --min-keep 2 --above 1 -n IN",
	"fix --in-place IN ; undo IN ; undo IN", "prune --in-place --keep-recent 0 IN ; fix -i IN ; undo --force IN", "trim -i --max-messages 4 IN ; trim -i --max-messages 2 IN",
	"view -o page.html IN", "view --plan fix --text IN", "view --plan prune --keep-recent 2 -o page.html IN", "view --strict --advice --text --color=always IN",
	"replay --max-tokens 50% IN", "replay --json --max-tokens 40% --policy sliding:messages=4 IN",
}

// sessions are for the files of agents.
var sessions = []command{
	"check IN", "check --json IN", "check --strict --advice IN", "count --json IN", "split --json IN",
	"fix --receipt r.jsonl -o out.json IN", "fix -n IN", "fix -n --json IN", "fix --append-only -o out.json IN", "fix --strict --orphan-call drop -o out.json IN",
	"fix -i --receipt r.jsonl IN ; undo IN ; fix -i IN ; check IN", "prune IN", "trim --max-messages 5 IN", "compact IN",
	"view --text IN", "view -o page.html IN", "view --plan fix -o page.html IN",
}

// largeInputCommands commands run on inputs that are too large for all commands.
var largeInputCommands = []command{
	"check --json IN", "check --strict IN", "count --json IN", "split --json IN",
	"fix --receipt r.jsonl -o out.json IN", "fix --strict -n --json IN", "prune --receipt r.jsonl -o out.json IN",
	"trim --max-tokens 100% --receipt r.jsonl -o out.json IN", "trim --max-tokens 30% --receipt r.jsonl -o out.json IN", "trim --max-messages 20 --receipt r.jsonl -o out.json IN",
	"compact --receipt r.jsonl -o out.json IN",
}

// wrapped are tried on files that hold bodies among other things.
var wrapped = []command{"check --json IN", "fix --receipt r.jsonl -o out.json IN"}

// withoutInput commands need no input.
var withoutInput = []command{
	"--help", "--version", "explain", "explain --json", "rules", "rules --json", "init -", "init ; rules --check pare.toml ; init", "completion bash", "completion zsh", "completion fish",
	"man", "nonsense", "fix no-such-file.json", "check --as nonsense", "fix --profile nonsense", "prune --rules nonsense", "trim --max-tokens 0", "doctor", "doctor --json", "undo nothing",
}

func (c command) on(in input) *testCase {
	t := &testCase{input: in.name, size: len(in.data)}
	if in.file != "" {
		t.files = map[string][]byte{in.file: in.data}
	}
	for _, one := range strings.Split(string(c), " ; ") {
		t.steps = append(t.steps, parseStep(one, in))
	}
	return t
}

// bytesPerToken is a guess that only spreads the limits.
const bytesPerToken = 4

func parseStep(one string, in input) step {
	words := strings.Fields(one)
	var s step
	label := []string{words[0]}
	for i := 0; i < len(words); i++ {
		w := words[i]
		share := 0
		switch {
		case w == "<":
			s.stdin, i = in.file, i+1
			label = append(label, "<")
			continue
		case w == "IN":
			w = in.file
		case strings.HasSuffix(w, "%") && words[i-1] == "--max-tokens":
			if _, err := fmt.Sscanf(w, "%d%%", &share); err == nil {
				label = append(label, w)
				w = fmt.Sprint(max(1, len(in.data)*share/100/bytesPerToken))
			}
		case i > 0 && w != "-o" && w != "out.json" && w != "r.jsonl" && w != "a.jsonl" && w != "page.html":
			label = append(label, w)
		}
		s.args = append(s.args, w)
	}
	s.label = strings.Join(label, " ")
	return s
}

// every tries all of the commands on one input.
func every(in input, sets ...[]command) []*testCase {
	var all []*testCase
	for _, set := range sets {
		for _, c := range set {
			all = append(all, c.on(in))
		}
	}
	return all
}
