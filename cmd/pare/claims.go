package main

import (
	"errors"
	"os"
	"slices"

	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/atomicfile"
)

// claimInputs claims the named inputs. Files in folders are checked when they are found. The error
// is wrong usage.
func (env *environment) claimInputs(input *source.Input, use atomicfile.Use) error {
	input.Use = use
	for _, p := range input.Paths {
		if p == "" {
			return hintedError{errors.New("the name of an input is empty"), "is a variable of the shell unset? Give a file, a folder, or - for standard input"}
		}
		if p != source.Stdin {
			if err := env.files.Claim(source.RoleInput, p, use); err != nil {
				return clashHint(err)
			}
		}
	}
	if stdin, ok := env.stdin.(*os.File); ok && slices.Contains(input.Paths, source.Stdin) {
		if st, err := stdin.Stat(); err == nil && st.Mode().IsRegular() {
			env.files.Restrict(st.Mode())
		}
		return clashHint(env.files.ClaimOpen("standard input", stdin, atomicfile.Read))
	}
	return nil
}

// claimOutput claims the file of a flag, unless it is "" or standard output. The error is wrong
// usage.
func (env *environment) claimOutput(flag, name string) error {
	if name == "" || name == source.Stdin {
		return nil
	}
	return clashHint(env.files.Claim(flag, name, atomicfile.Write))
}

// claimStdout claims the file that standard output is redirected to. The error is wrong usage.
func (env *environment) claimStdout() error {
	stdout, ok := env.stdout.(*os.File)
	if !ok {
		return nil
	}
	return clashHint(env.files.ClaimOpen(source.RoleStdout, stdout, atomicfile.Write))
}

// claimAll claims standard output and the inputs of a run that only reads. The error is wrong
// usage.
func (env *environment) claimAll(input *source.Input) error {
	if err := env.claimStdout(); err != nil {
		return err
	}
	return env.claimInputs(input, atomicfile.Read)
}

const clashAdvice = "give each a file of its own"

// clashHint adds advice to the error about one file with two uses.
func clashHint(err error) error {
	var clash *atomicfile.Clash
	if !errors.As(err, &clash) {
		return err
	}
	return hintedError{err, clashAdvice}
}

// claimFiles claims all files of a run before the first is written. The error is wrong usage.
func (f *changeFlags) claimFiles(env *environment, input *source.Input, t task) error {
	if err := env.claimOutput("-o", f.Output); err != nil {
		return err
	}
	if err := env.claimOutput("--receipt", f.Receipt); err != nil {
		return err
	}
	if err := env.claimOutput("--archive", t.archive); err != nil {
		return err
	}
	use := atomicfile.Read
	switch {
	case f.InPlace:
		use = atomicfile.Replace
	case f.Output == "" || f.Output == source.Stdin:
		if err := env.claimStdout(); err != nil {
			return err
		}
	}
	err := env.claimInputs(input, use)
	var h hintedError
	if errors.As(err, &h) && f.Output != "" {
		h.hint = "give each a file of its own; --in-place rewrites the input itself, and keeps a backup"
		return h
	}
	return err
}
