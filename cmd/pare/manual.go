package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/manual"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/hosts"
	"github.com/pare-llm/pare/internal/rulelist"
	"github.com/pare-llm/pare/wire"
)

type manCmd struct {
	Dir string `arg:"" optional:"" help:"The folder to write the pages to. Default: the first page goes to standard output."`
}

// Help returns the detailed help of the command.
func (c *manCmd) Help() string {
	return `For example:

    pare man ~/.local/share/man/man1              then: man pare, man pare-trim
    pare man | man -l -                           look at the first page

There is a page for pare and one for each command. Pages that are there already are
replaced. They are made from the commands and flags of this version: write them again
after an update.`
}

func (c *manCmd) run(env *environment) int {
	pages := manual.Pages(newParser(env, nil).Model, commandGroups)
	if c.Dir == "" {
		return env.writeOutput(pages[0].Roff)
	}
	if err := os.MkdirAll(c.Dir, 0o777); err != nil {
		return env.fail("make "+c.Dir+": "+newProblem(err).Message, "give a folder that you may write to")
	}
	for _, p := range pages {
		if err := env.files.WriteFile(filepath.Join(c.Dir, p.Name), p.Roff); err != nil {
			return env.fail(err.Error(), writeHint(err, false))
		}
	}
	screen.Fprintf(env.stderr, "%s written to %s\n", plural(len(pages), "page"), c.Dir)
	return statusClean
}

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help returns the detailed help of the command.
func (c *completionCmd) Help() string {
	return `For example:

    source <(pare completion bash)                in ~/.bashrc
    pare completion zsh > ~/.zfunc/_pare          a folder of $fpath, before compinit
    pare completion fish > ~/.config/fish/completions/pare.fish

The completions are made from the commands and flags of this version: print them again
after an update. Names of commands, flags, what a flag may be, rules and files are
completed.`
}

func (c *completionCmd) run(env *environment) int {
	terms := slices.DeleteFunc(wordNames(), func(s string) bool { return strings.Contains(s, " ") }) // shells complete single words
	known := map[string][]string{"as": slices.Concat(dialectNames(), hosts.Names()), "profile": wire.Profiles(wire.Auto), "rules": ruleNames(), "text": terms, "agent": agentlog.AgentNames()}
	return env.writeOutput(manual.Completion(c.Shell, newParser(env, nil).Model, known))
}

func dialectNames() []string {
	var names []string
	for _, d := range wire.Dialects() {
		names = append(names, d.String())
	}
	return names
}

func ruleNames() []string {
	var names []string
	for _, e := range rulelist.All() {
		names = append(names, e.Name)
	}
	return names
}
