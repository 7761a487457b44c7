package main

import (
	"errors"
	"os"
	"slices"

	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/atomicfile"
)

// claimInputs claims what is named on the command line. What folders hold is compared
// when it is found. Its error is wrong usage.
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

// claimOutput claims a file that a flag names, if it names one. Its error is wrong usage.
func (env *environment) claimOutput(flag, name string) error {
	if name == "" || name == source.Stdin {
		return nil
	}
	return clashHint(env.files.Claim(flag, name, atomicfile.Write))
}

// claimStdout claims what standard output is written to. Its error is wrong usage.
func (env *environment) claimStdout() error {
	stdout, ok := env.stdout.(*os.File)
	if !ok {
		return nil
	}
	return clashHint(env.files.ClaimOpen(source.RoleStdout, stdout, atomicfile.Write))
}

// claimAll claims standard output and the inputs of a run that only reads. Its error is
// wrong usage.
func (env *environment) claimAll(input *source.Input) error {
	if err := env.claimStdout(); err != nil {
		return err
	}
	return env.claimInputs(input, atomicfile.Read)
}

const clashAdvice = "give each a file of its own"

// clashHint adds what to do about two roles in one file.
func clashHint(err error) error {
	var clash *atomicfile.Clash
	if !errors.As(err, &clash) {
		return err
	}
	return hintedError{err, clashAdvice}
}

// claim claims the files of a run that changes transcripts, all of them before the first
// is written. Its error is wrong usage.
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
