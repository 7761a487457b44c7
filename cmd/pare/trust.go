package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/trust"
	"github.com/pare-llm/pare/internal/config"
)

type trustCmd struct {
	File   string `arg:"" optional:"" help:"The file. Default: pare.toml in this folder."`
	Yes    bool   `short:"y" help:"Do not ask."`
	List   bool   `help:"List the trusted files, and whether they have changed since."`
	Revoke bool   `help:"End the trust in the file."`
}

// Help returns the detailed help of the command.
func (c *trustCmd) Help() string {
	return `For example:

    pare trust                    show the sensitive settings of pare.toml in this folder, and ask
    pare trust --yes work/pare.toml
    pare trust --list
    pare trust --revoke

A pare.toml can come with a cloned repository. Pare therefore ignores its sensitive settings:
addresses, key variables, files, and text that ends up in a conversation. pare trust accepts
the current content of one file. After an edit the file is not trusted any more.

Your own configuration, pare/pare.toml in the folder for configurations, and a file that you
name with --config need no trust. pare run reads the settings of an agent in this folder, such as
opencode.json, only if you have accepted them in the same way.`
}

func (c *trustCmd) run(env *environment) int {
	if c.List && (c.Revoke || c.File != "") {
		return env.failUsage(errors.New("--list goes with no file and not with --revoke"), "trust")
	}
	folder, err := env.configFolder()
	if err != nil {
		return env.fail(err.Error(), "set HOME or XDG_CONFIG_HOME")
	}
	store := trust.Open(folder)
	if c.List {
		return c.listFiles(env, store)
	}
	if c.File == "" {
		c.File = configName
	}
	if c.Revoke {
		return c.revoke(env, store)
	}
	content, err := os.ReadFile(c.File)
	if err != nil {
		return env.fail(c.File+": "+newProblem(err).Message, "give the file: pare trust FILE")
	}
	if filepath.Base(c.File) != configName {
		screen.Fprintf(env.stderr, "%s has this content:\n", c.File)
		for line := range bytes.Lines(content) {
			screen.Fprintf(env.stderr, "  %s\n", string(bytes.TrimRight(line, "\r\n")))
		}
		return c.acceptContent(env, store, content)
	}
	sensitive, err := config.Sensitive(config.File{Name: c.File, Data: content})
	if err != nil {
		return env.failConfig(c.File, err)
	}
	if len(sensitive) == 0 {
		screen.Fprintf(env.stderr, "pare: %s has no sensitive settings and needs no trust\n", c.File)
		return statusClean
	}
	screen.Fprintf(env.stderr, "%s has %s:\n", c.File, plural(len(sensitive), "sensitive setting"))
	for _, s := range sensitive {
		screen.Fprintf(env.stderr, "  line %d: %s = %s\n", s.Line, s.Key, s.Value)
	}
	return c.acceptContent(env, store, content)
}

// accept adds the content of the file to the list, if the user agrees.
func (c *trustCmd) acceptContent(env *environment, store trust.Store, content []byte) int {
	if !c.Yes {
		if !isTerminal(env.stdin) || !isTerminal(env.stderr) {
			return env.fail("there is no terminal to ask on: nothing was trusted", fmt.Sprint("to accept without a question: ", screen.NewCommand("pare", "trust", "--yes").Files(c.File)))
		}
		screen.Fprint(env.stderr, "trust this content? [y/N] ")
		answer, _ := bufio.NewReader(env.stdin).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			screen.Fprintln(env.stderr, "not trusted")
			return statusFindings
		}
	}
	if err := store.Add(c.File, content); err != nil {
		return env.fail(err.Error(), "")
	}
	screen.Fprintf(env.stderr, "pare: %s is trusted until its content changes; to end that: %s\n", c.File, screen.NewCommand("pare", "trust", "--revoke").Files(c.File))
	return statusClean
}

func (c *trustCmd) revoke(env *environment, store trust.Store) int {
	removed, err := store.Revoke(c.File)
	switch {
	case err != nil:
		return env.fail(err.Error(), "")
	case !removed:
		return env.fail(c.File+" is not in the list of trusted files", "pare trust --list prints the list")
	}
	screen.Fprintf(env.stderr, "pare: %s is not trusted any more\n", c.File)
	return statusClean
}

// list prints a line for each trusted file.
func (c *trustCmd) listFiles(env *environment, store trust.Store) int {
	all, err := store.List()
	if err != nil {
		return env.fail(err.Error(), "")
	}
	var out []byte
	for _, e := range all {
		out = screen.Appendf(out, "%s\t%s\n", describeTrust(store, e), e.Path)
	}
	return env.writeOutput(out)
}

// trustState compares an entry with the file as it is now.
func describeTrust(store trust.Store, e trust.Entry) string {
	content, err := os.ReadFile(e.Path)
	if err != nil {
		return "missing"
	}
	if trusted, err := store.IsTrusted(e.Path, content); err != nil || !trusted {
		return "changed"
	}
	return "trusted"
}
