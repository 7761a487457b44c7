package main

import (
	"errors"
	"os"
	"slices"

	"github.com/pare-llm/pare/internal/atomicfile"
)

// What transcripts and standard output are called in a clash; flags are called as they
// are written.
const (
	roleInput  = "the input"
	roleStdout = "standard output"
)

// claimInputs claims what is named on the command line. What folders hold is compared
// when it is found. Its error is wrong usage.
func (w *world) claimInputs(in *input, use atomicfile.Use) error {
	in.files, in.use = &w.files, use
	for _, p := range in.paths {
		if p != stdinName {
			if err := w.files.Claim(roleInput, p, use); err != nil {
				return clashHint(err)
			}
		}
	}
	if stdin, ok := w.stdin.(*os.File); ok && slices.Contains(in.paths, stdinName) {
		if st, err := stdin.Stat(); err == nil && st.Mode().IsRegular() {
			w.files.Restrict(st.Mode())
		}
		return clashHint(w.files.ClaimOpen("standard input", stdin, atomicfile.Read))
	}
	return nil
}

// claimOutput claims a file that a flag names, if it names one. Its error is wrong usage.
func (w *world) claimOutput(flag, name string) error {
	if name == "" || name == stdinName {
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
	return clashHint(w.files.ClaimOpen(roleStdout, stdout, atomicfile.Write))
}

// clashHint adds what to do about two roles in one file.
func clashHint(err error) error {
	var clash *atomicfile.Clash
	if !errors.As(err, &clash) {
		return err
	}
	return hinted{err, "give each a file of its own"}
}

// claim claims the files of a run that changes transcripts, all of them before the first
// is written. Its error is wrong usage.
func (c *changing) claim(w *world, in *input, t task) error {
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
	case c.Output == "" || c.Output == stdinName:
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
