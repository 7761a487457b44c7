package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/jsonspan"
)

// A chunk is what is read in one go: a document, or neighbouring lines of a batch.
type chunk struct {
	source string
	line   int         // number of the first line; 0: data is one document
	data   []byte      // whole lines, or the document
	lead   int         // bytes in front of data that were passed over: a byte order mark
	err    error       // why nothing can be read; data is nil
	packed string      // how it was compressed: gzip, zstd, or ""
	file   fs.FileInfo // as it was before it was read; nil: not a file

	agent agentlog.Format // whose session data is; Auto: it is none
}

// store reports whether the chunk is a folder that is one session file: nothing of it
// has been read.
func (c *chunk) store() bool { return c.agent == agentlog.OpenCode }

// An input finds and reads the transcripts that the command line names.
type input struct {
	paths   []string
	stdin   io.Reader
	skipped int          // files in folders that are no JSON; read it after each
	backups int          // files in folders that are our own backups; read it after each
	vetting bool         // only batches are wanted
	done    atomic.Int64 // bytes read, before decompression

	files *atomicfile.Files // the roles of the run's files
	use   atomicfile.Use    // what is done with those that are found
	clash error             // a file in a folder has another role; read it after each
	own   []string          // files in folders that standard output is written to
}

// stdinName is what the source of standard input is called in reports.
const stdinName = "-"

func newInput(w *world, paths []string) *input {
	if len(paths) == 0 {
		paths = []string{stdinName}
	}
	return &input{paths: paths, stdin: w.stdin, files: &w.files}
}

// many reports whether the input is more than one file.
func (in *input) many() bool {
	if len(in.paths) > 1 {
		return true
	}
	st, err := os.Stat(in.paths[0])
	return in.paths[0] != stdinName && err == nil && st.IsDir()
}

// size returns the bytes that all files have, or 0 if that cannot be known.
func (in *input) size() (total int64) {
	for _, p := range in.paths {
		if p == stdinName {
			return 0
		}
		in.walk(p, func(path string, _ fs.DirEntry, err error) bool {
			if st, err := os.Stat(path); err == nil {
				total += st.Size()
			}
			return true
		})
	}
	return total
}

// each reads everything, in order, until emit returns false.
func (in *input) each(emit func(chunk) bool) {
	for _, p := range in.paths {
		if p == stdinName {
			if !in.read(p, in.stdin, false, emit) {
				return
			}
			continue
		}
		goOn := in.walk(p, func(path string, d fs.DirEntry, err error) bool {
			switch {
			case err != nil:
				return emit(chunk{source: path, err: err})
			case d != nil && d.IsDir():
				return in.vetting || emit(chunk{source: path, agent: agentlog.OpenCode})
			case d != nil && atomicfile.IsBackup(path):
				in.backups++
				return true
			}
			return in.file(path, d != nil, emit)
		})
		if !goOn {
			return
		}
	}
}

// walk visits a file, or the files of a folder sorted by name, without the hidden
// ones. The folder in which opencode keeps its sessions is visited as a whole. A file
// that is named itself comes without an entry. walk returns false as soon as visit
// does.
func (in *input) walk(root string, visit func(path string, d fs.DirEntry, err error) bool) bool {
	st, err := os.Stat(root)
	if err != nil || !st.IsDir() {
		return visit(root, nil, err)
	}
	// With the separator a link to a folder is followed, if it was named itself. Any
	// error would do to end the walk and to tell that it was ended.
	root += string(filepath.Separator)
	return nil == filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			if !visit(path, d, err) {
				return fs.ErrClosed
			}
		case path != root && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir() && agentlog.IsStorage(path):
			if !visit(strings.TrimSuffix(path, string(filepath.Separator)), d, nil) {
				return fs.ErrClosed
			}
			return fs.SkipDir
		case isFile(path, d):
			if !visit(path, d, nil) {
				return fs.ErrClosed
			}
		}
		return nil
	})
}

// isFile is true for a link to a file as well, but not for a link to a folder,
// which may lead in circles, nor for pipes and devices, which may never end.
func isFile(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

func (in *input) file(path string, inFolder bool, emit func(chunk) bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return emit(chunk{source: path, err: err})
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return emit(chunk{source: path, err: err})
	}
	if st.Mode().IsRegular() {
		in.files.Restrict(st.Mode())
	}
	return in.read(path, f, inFolder, func(c chunk) bool {
		c.file = st
		return emit(c)
	})
}

// free is an error if a file that was found in a folder has another role in this run.
// One that standard output is written to is no input, and own is true.
func (in *input) free(path string) (own bool, err error) {
	err = in.files.Check(roleInput, path, in.use)
	var clash *atomicfile.Clash
	if errors.As(err, &clash) && clash.Roles[0] == roleStdout {
		in.own = append(in.own, path)
		return true, nil
	}
	if err != nil {
		in.clash = clashHint(err)
		return false, in.clash
	}
	return false, nil
}

// printSkipped says which files of folders were passed over.
func (in *input) printSkipped(w io.Writer) {
	if in.skipped > 0 {
		fmt.Fprintf(w, "pare: skipped %s in folders that %s not JSON\n", plural(in.skipped, "file"), isAre(in.skipped))
	}
	for _, name := range in.own {
		fmt.Fprintf(w, "pare: skipped %s: standard output is written to it\n", plain(name))
	}
	if in.backups > 0 {
		fmt.Fprintf(w, "pare: skipped %s in folders, made by --in-place\n", plural(in.backups, "backup"))
	}
}

// read reads one source. What is no JSON at all is an error where it was named
// and passed over where it only happened to lie in a folder.
func (in *input) read(source string, r io.Reader, inFolder bool, emit func(chunk) bool) bool {
	s, err := openStream(r, &in.done)
	if err != nil {
		return emit(chunk{source: source, err: err})
	}
	defer s.close()
	lead := s.skipMark()
	json := s.opensJSON()
	if inFolder && json {
		if own, err := in.free(source); own {
			return true
		} else if err != nil {
			return emit(chunk{source: source, err: err})
		}
	}
	if agent, ok := s.session(source, json); ok && s.err == nil {
		if in.vetting {
			return true // it leaves as a whole, or not at all
		}
		c := s.chunk(source, s.all(), lead)
		c.agent = agent
		return emit(c)
	}
	if !json {
		if inFolder && s.err == nil {
			in.skipped++
			return true
		}
		// The parser will say what is wrong at the very start; the rest, perhaps
		// the gigabytes of a film, need not be read for that.
		return emit(s.chunk(source, s.head(), lead))
	}
	if !s.isBatch() {
		return in.vetting || emit(s.chunk(source, s.all(), lead))
	}
	line := 1
	for {
		data := s.lines()
		if len(data) == 0 {
			return s.err == nil || emit(chunk{source: source, err: s.err})
		}
		if !emit(chunk{source: source, line: line, data: data, lead: lead, packed: s.packed}) {
			return false
		}
		line += countLines(data)
		lead = 0
	}
}

// chunk returns data as a document, or the error that has ended the stream early.
func (s *stream) chunk(source string, data []byte, lead int) chunk {
	if s.err != nil {
		return chunk{source: source, err: s.err}
	}
	return chunk{source: source, data: data, lead: lead, packed: s.packed}
}

// whole reports whether data is one JSON value with nothing behind it.
func whole(data []byte) bool {
	var s jsonspan.Scanner
	s.Reset(data, jsonspan.Structural)
	s.Skip()
	s.End()
	return !s.Failed()
}
