package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

func TestReadmeListsEveryCommand(t *testing.T) {
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(raw)
	env := &environment{stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }}
	for _, c := range newParser(env, func(int) {}).Model.Children {
		if !c.Hidden && !strings.Contains(readme, "`pare "+c.Name+"`") {
			t.Errorf("README.md does not list pare %s", c.Name)
		}
	}
	for _, name := range dialectNames() {
		if name != wire.Auto.String() && !strings.Contains(readme, "| `"+name+"` |") {
			t.Errorf("README.md does not list the dialect %s", name)
		}
	}
}
