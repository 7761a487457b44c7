package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func (c *claudeCode) testShortened(t *testing.T, s held, full bool) {
	whole := bytes.Join(s.lines, nil)
	for _, x := range []struct {
		args       []string
		sent, gone []string
	}{
		{[]string{"trim", "--max-messages", "5"}, []string{"prompt 1: hello", "prompt 4: well done", "reply 4: done"}, []string{"contents alpha", "prompt 2: read"}},
		{[]string{"trim", "--max-exchanges", "1"}, []string{"prompt 1: hello", "output of the program", "reply 4: done"}, []string{"contents alpha", "contents beta"}},
		{[]string{"compact", "--min-keep", "2", "--summary", "Two files were read."}, []string{"prompt 1: hello", "Two files were read.", "prompt 4: well done", "reply 4: done"}, []string{"contents alpha"}},
	} {
		if !full && x.args[0] != "compact" {
			continue
		}
		t.Run(strings.Join(x.args, " "), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), s.id+".jsonl")
			aged(t, file, whole)
			if status, _, errs := program(nil, append(x.args, "--in-place", file)...); status != statusClean {
				t.Fatal(errs)
			}
			short, err := os.ReadFile(file)
			if err != nil || !bytes.HasPrefix(short, whole) || len(short) == len(whole) {
				t.Fatalf("%d bytes of %d: %v", len(short), len(whole), err)
			}
			r := c.resume(t, s, short)
			if !r.sent || r.asked.err != nil || len(r.found) > 0 || r.err != nil {
				t.Fatalf("it is not resumed: %v %v %+v\n%s", r.err, r.asked.err, r.found, r.out)
			}
			for _, text := range append(x.sent, "prompt 9: go on") {
				if !bytes.Contains(r.body, []byte(text)) {
					t.Errorf("%q is not sent\n%s", text, r.body)
				}
			}
			for _, text := range x.gone {
				if bytes.Contains(r.body, []byte(text)) {
					t.Errorf("%q is sent", text)
				}
			}
		})
	}
}
