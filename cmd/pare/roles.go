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
func (w *world) claimInputs(in *source.Input, use atomicfile.Use) error {
	in.Use = use
	for _, p := range in.Paths {
		if p == "" {
			return hinted{errors.New("the name of an input is empty"), "is a variable of the shell unset? Give a file, a folder, or - for standard input"}
		}
		if p != source.Stdin {
			if err := w.files.Claim(source.RoleInput, p, use); err != nil {
				return clashHint(err)
			}
		}
	}
	if stdin, ok := w.stdin.(*os.File); ok && slices.Contains(in.Paths, source.Stdin) {
		if st, err := stdin.Stat(); err == nil && st.Mode().IsRegular() {
			w.files.Restrict(st.Mode())
		}
		return clashHint(w.files.ClaimOpen("standard input", stdin, atomicfile.Read))
	}
	return nil
}

// claimOutput claims a file that a flag names, if it names one. Its error is wrong usage.
func (w *world) claimOutput(flag, name string) error {
	if name == "" || name == source.Stdin {
		return nil
	}
	return clashHint(w.files.Claim(flag, name, atomicfile.Write))
}

// claimStdout claims what standard output is written to. Its error is wrong usage.
func (w *world) claimStdout() error {
	stdout, ok := w.stdout.(*os.File)
	if !ok {
		return nil
	}
	return clashHint(w.files.ClaimOpen(source.RoleStdout, stdout, atomicfile.Write))
}

// claimAll claims standard output and the inputs of a run that only reads. Its error is
// wrong usage.
func (w *world) claimAll(in *source.Input) error {
	if err := w.claimStdout(); err != nil {
		return err
	}
	return w.claimInputs(in, atomicfile.Read)
}

const clashAdvice = "give each a file of its own"

// clashHint adds what to do about two roles in one file.
func clashHint(err error) error {
	var clash *atomicfile.Clash
	if !errors.As(err, &clash) {
		return err
	}
	return hinted{err, clashAdvice}
}

// claim claims the files of a run that changes transcripts, all of them before the first
// is written. Its error is wrong usage.
func (c *changing) claim(w *world, in *source.Input, t task) error {
	if err := w.claimOutput("-o", c.Output); err != nil {
		return err
	}
	if err := w.claimOutput("--receipt", c.Receipt); err != nil {
		return err
	}
	if err := w.claimOutput("--archive", t.archive); err != nil {
		return err
	}
	use := atomicfile.Read
	switch {
	case c.InPlace:
		use = atomicfile.Replace
	case c.Output == "" || c.Output == source.Stdin:
		if err := w.claimStdout(); err != nil {
			return err
		}
	}
	err := w.claimInputs(in, use)
	var h hinted
	if errors.As(err, &h) && c.Output != "" {
		h.hint = "give each a file of its own; --in-place rewrites the input itself, and keeps a backup"
		return h
	}
	return err
}
