package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/config"
)

type initCmd struct {
	File  string `arg:"" optional:"" help:"The file to write, or - for standard output. Default: pare.toml in this folder."`
	Force bool   `short:"f" help:"Replace the file if there is one."`
}

// Help returns the detailed help of the command.
func (c *initCmd) Help() string {
	return `For example:

    pare init                     write pare.toml in this folder
    pare init ~/pare.toml
    pare init - | less            only look at it

The file has every option, with its default and a line that says what it does. All of it
is commented out, so that it changes nothing until you remove a #. All commands use the
pare.toml of the folder in which they are run; its addresses, files and texts count after
pare trust.`
}

func (c *initCmd) run(env *environment) int {
	name := c.File
	if name == "" {
		name = configName
	}
	text := config.Template()
	if name == source.Stdin {
		return env.writeOutput(text)
	}
	if _, err := os.Lstat(name); err == nil && !c.Force {
		return env.fail(name+" is there already", "give another name, or --force to replace it; "+screen.NewCommand("pare", "rules", "--check").Files(name).String()+" checks it")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return env.fail("write "+name+": "+newProblem(err).Message, "")
	}
	if err := env.files.WriteFile(name, text); err != nil {
		return env.fail(err.Error(), writeHint(err, false))
	}
	status := env.writeOutput(screen.Appendf(nil, "%s\n", name))
	screen.Fprintf(env.stderr, "      uncomment what you want to change, then see what runs: %s\n", screen.NewCommand("pare", "rules").Files(name))
	return status
}
