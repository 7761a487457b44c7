// Package source finds what a command is to read (files, folders, standard input), unpacks
// it, tells what it is, and cuts it into documents or lines, which all cores work on and
// which come back in order.
//
// An [Input] reads one source after the other and hands out a [Chunk] at a time, which
// holds one JSON text or several: see [Chunk.Texts]. [Work] is the crew.
package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/pare-llm/pare/cmd/internal/tables"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/atomicfile"
)

// Stdin is what the source of standard input is called.
const Stdin = "-"

// What inputs and standard output are called in a clash of roles.
const (
	RoleInput  = "the input"
	RoleStdout = "standard output"
)

// A Chunk is what is read in one go: a document, or neighbouring lines of a batch.
type Chunk struct {
	Source string
	Line   int         // number of the first line; 0: Data is one document
	Data   []byte      // whole lines, or the document
	Lead   int         // bytes in front of Data that were passed over: a byte order mark
	Err    error       // why nothing can be read; Data is nil
	Packed string      // how it was packed: Gzip, Zstd or Plain
	File   fs.FileInfo // as it was before it was read; nil: not a file
	Found  bool        // it lies in a folder, and nobody has named it

	Agent agentlog.Format // whose session Data is; Auto: it is none
	Rows  agentlog.Rows   // of a session in a database: nothing of it has been read

	lent *buffer
}

// Free gives the memory of Data back if it was lent; see [Input.Lend].
func (c *Chunk) Free() {
	if c.lent != nil {
		c.lent.free()
		c.lent, c.Data = nil, nil
	}
}

// IsFolder reports whether the chunk is a folder that is one session: nothing of it has
// been read.
func (c *Chunk) IsFolder() bool { return c.Agent == agentlog.OpenCode }

// A Text is one JSON text of a chunk, or a blank line between two.
type Text struct {
	Line  int    // 0: it is a document of its own
	Lead  int    // bytes passed over in front of it
	Raw   []byte // without the end of its line
	Whole []byte // with it
	Blank bool
}

// Texts cuts a chunk into the document that it is, or its lines.
func (c *Chunk) Texts() iter.Seq[Text] {
	return func(yield func(Text) bool) {
		if c.Line == 0 {
			yield(Text{Lead: c.Lead, Raw: c.Data, Whole: c.Data})
			return
		}
		n, lead := c.Line, c.Lead
		for l := range bytes.Lines(c.Data) {
			if !yield(textOf(l, n, lead)) {
				return
			}
			n++
			lead = 0
		}
	}
}

// textOf is the text of a line, in front of which so many bytes were passed over already. Each
// line may begin with a mark: files that do are put together.
func textOf(line []byte, n, lead int) Text {
	if rest, ok := bytes.CutPrefix(line, utf8Mark); ok && lead == 0 {
		line, lead = rest, len(utf8Mark)
	}
	return Text{Line: n, Lead: lead, Whole: line, Raw: bytes.TrimRight(line, "\r\n"), Blank: len(bytes.TrimSpace(line)) == 0}
}

// Mark is the byte order mark that Lead counts.
func (t *Text) Mark() []byte { return utf8Mark[:t.Lead] }

// Mark is the byte order mark that Lead counts.
func (c *Chunk) Mark() []byte { return utf8Mark[:c.Lead] }

// An Input finds and reads transcripts. It is for one goroutine, but for Read.
type Input struct {
	Paths []string // files, folders, or Stdin
	Stdin io.Reader
	// MaxSize is how many bytes a packed file may have unpacked. Default: the constant of
	// that name.
	MaxSize int64
	// BatchesOnly passes over everything but JSON lines.
	BatchesOnly bool
	// Data says that no file is the session of an agent: what is JSON is a document, or lines of them.
	Data bool
	// Lend lets one document after the other be read into the same memory: whoever gets a
	// chunk frees it, and keeps nothing of its data.
	Lend bool

	Files *atomicfile.Files // knows the roles of the run's files; nil: there are none
	Use   atomicfile.Use    // what is done with the files that are found

	Read    atomic.Int64 // bytes read, before they were unpacked
	Skipped Skipped      // to be looked at after Each
	Clash   error        // a file in a folder has another role; to be looked at after Each
}

// Skipped are the files that were passed over, in folders or because they were read before.
type Skipped struct {
	Foreign int      // no JSON
	Empty   int      // nothing but white space
	Packed  int      // packed, and by their names something else than JSON
	Backups int      // made when a file was replaced
	Again   int      // read before, by this name or another
	Own     []string // standard output is written to them
	Others  []Other  // JSON, and nothing that can be read here
}

// With adds others, which only a look at the whole file has told.
func (s Skipped) With(others []Other) Skipped {
	s.Others = slices.Concat(s.Others, others)
	return s
}

// An Other is a file in a folder that holds JSON of another kind.
type Other struct {
	Path string
	Why  error
}

// Many reports whether the input is more than one file.
func (in *Input) Many() bool {
	if len(in.Paths) > 1 || in.Paths[0] != Stdin && tables.IsDatabase(in.Paths[0]) {
		return true
	}
	st, err := os.Stat(in.Paths[0])
	return in.Paths[0] != Stdin && err == nil && st.IsDir()
}

// Lasting reports whether the input can be read twice: pipes and the like cannot.
func (in *Input) Lasting() bool {
	for _, p := range in.Paths {
		if st, err := os.Stat(p); p == Stdin || err == nil && !st.Mode().IsRegular() && !st.IsDir() {
			return false
		}
	}
	return true
}

// Size returns the bytes that all files have, or 0 if that cannot be known.
func (in *Input) Size() (total int64) {
	for _, p := range in.Paths {
		if p == Stdin {
			return 0
		}
		walk(p, func(path string, _ fs.DirEntry, err error) bool {
			if st, err := os.Stat(path); err == nil {
				total += st.Size()
			}
			return true
		})
	}
	return total
}

// Each reads everything, in order, until emit returns false.
func (in *Input) Each(emit func(Chunk) bool) {
	been := places{}
	for _, p := range in.Paths {
		if p == Stdin {
			if been.again(p) {
				in.Skipped.Again++
			} else if !in.stream(p, in.Stdin, nil, false, emit) {
				return
			}
			continue
		}
		if file, id, ok := tables.SplitName(p); ok {
			if been.again(p) {
				in.Skipped.Again++
			} else if !in.row(file, id, emit) {
				return
			}
			continue
		}
		root, rootErr := realPath(p)
		clean := filepath.Clean(p) // as what is found below it is called
		goOn := walk(p, func(path string, d fs.DirEntry, err error) bool {
			if err == nil && rootErr == nil && been.again(placeOf(root, clean, path, d)) {
				in.Skipped.Again++
				return true
			}
			switch {
			case err != nil:
				return emit(Chunk{Source: path, Err: err})
			case d == nil:
				return in.file(path, false, emit)
			case d.IsDir():
				return in.BatchesOnly || emit(Chunk{Source: path, Agent: agentlog.OpenCode})
			case atomicfile.IsBackup(path):
				in.Skipped.Backups++
				return true
			case PackedBy(path) != Plain && !namedJSON(path):
				in.Skipped.Packed++
				return true
			}
			return in.file(path, true, emit)
		})
		if !goOn {
			return
		}
	}
}

// places are where the sources that were read lie. A source that is named twice, or that a
// link leads to as well, is read once, and counts once.
type places map[string]bool

func (been places) again(place string) bool {
	if place == "" || been[place] {
		return place != ""
	}
	been[place] = true
	return false
}

// placeOf is where a path that was found below p, which lies at root, leads; "" for what is
// no file, such as a pipe: each time there may be more in it. Only links have to be followed.
func placeOf(root, p, path string, d fs.DirEntry) string {
	switch {
	case d == nil:
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			return ""
		}
		return root
	case d.Type()&fs.ModeSymlink != 0:
		place, _ := realPath(path)
		return place
	}
	// The walk makes paths clean, and so is root: mostly what follows p follows root as well.
	if rest, ok := strings.CutPrefix(path, p); ok && rest != "" && os.IsPathSeparator(rest[0]) && !os.IsPathSeparator(root[len(root)-1]) {
		return root + rest
	}
	return filepath.Join(root, strings.TrimPrefix(filepath.Clean(path), p))
}

// realPath is the one path of a file, through all links.
func realPath(path string) (string, error) {
	real, err := atomicfile.Resolve(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(real)
}

// walk visits a file, or the files of a folder sorted by name, without the hidden
// ones. The folder in which opencode keeps its sessions is visited as a whole. A file
// that is named itself comes without an entry. walk returns false as soon as visit
// does.
func walk(root string, visit func(path string, d fs.DirEntry, err error) bool) bool {
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

func (in *Input) file(path string, inFolder bool, emit func(Chunk) bool) bool {
	open := os.Open
	if inFolder {
		open = openFound
	}
	if in.Use == atomicfile.Replace && in.Files != nil {
		if err := in.Files.Recover(path); err != nil {
			return emit(Chunk{Source: path, Err: err})
		}
	}
	f, err := open(path)
	if err != nil {
		return emit(Chunk{Source: path, Err: err})
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return emit(Chunk{Source: path, Err: err})
	}
	if st.Mode().IsRegular() && in.Files != nil {
		in.Files.Restrict(st.Mode())
	}
	if st.Mode().IsRegular() && !inFolder && tables.IsDatabase(path) {
		if all, err := tables.Sessions(path); err == nil {
			return in.rows(all, emit)
		} else if !errors.Is(err, tables.ErrUnknown) {
			return emit(Chunk{Source: path, Err: err})
		}
	}
	return in.stream(path, f, st, inFolder, func(c Chunk) bool {
		c.File, c.Found = st, inFolder
		return emit(c)
	})
}

// row hands out a session of a database.
func (in *Input) row(file, id string, emit func(Chunk) bool) bool {
	s, err := tables.Find(file, id)
	if err != nil {
		return emit(Chunk{Source: file + "#" + id, Err: err})
	}
	return in.rows([]*tables.Session{s}, emit)
}

// rows hands out the sessions of a database.
func (in *Input) rows(all []*tables.Session, emit func(Chunk) bool) bool {
	for _, s := range all {
		if !in.BatchesOnly && !emit(Chunk{Source: s.Name(), Agent: s.Format(), Rows: s}) {
			return false
		}
	}
	return true
}

// stream reads one source. st is the file that it is, if it has just been opened. What is no
// JSON at all is an error where it was named and passed over where it only happened to lie
// in a folder.
func (in *Input) stream(source string, r io.Reader, st fs.FileInfo, inFolder bool, emit func(Chunk) bool) bool {
	most := in.MaxSize
	if most == 0 {
		most = MaxSize
	}
	var lent *buffer
	if in.Lend && st != nil && st.Mode().IsRegular() {
		lent = buffers.Get().(*buffer)
	}
	s, err := openStream(r, st, most, &in.Read, lent)
	if err != nil {
		return emit(Chunk{Source: source, Err: err})
	}
	defer s.close()
	lead := s.skipMark()
	if in.BatchesOnly && s.opensJSON() && s.oneLine() {
		return true
	}
	kind, agent := s.sniff(source, in.Data)
	if inFolder && kind != foreign {
		if own, err := in.free(source, st); own {
			s.drop()
			return true
		} else if err != nil {
			return emit(Chunk{Source: source, Err: err})
		}
	}
	if inFolder && !in.Data {
		if why := s.other(kind, agent); why != nil {
			in.Skipped.Others = append(in.Skipped.Others, Other{source, why})
			s.drop()
			return true
		}
	}
	switch kind {
	case session:
		c := s.chunk(source, s.all(), lead)
		c.Agent = agent
		return in.BatchesOnly || emit(c) // it leaves as a whole, or not at all
	case document:
		return in.BatchesOnly || emit(s.chunk(source, s.all(), lead))
	case foreign:
		if inFolder && s.err == nil {
			if s.text(0) < 0 {
				in.Skipped.Empty++
			} else {
				in.Skipped.Foreign++
			}
			s.drop()
			return true
		}
		// The parser will say what is wrong at the very start; the rest, perhaps
		// the gigabytes of a film, need not be read for that.
		return emit(s.chunk(source, s.head(), lead))
	}
	line := 1
	for {
		data := s.lines()
		if len(data) == 0 {
			return s.err == nil || emit(Chunk{Source: source, Err: s.err})
		}
		if !emit(Chunk{Source: source, Line: line, Data: data, Lead: lead, Packed: s.packed}) {
			return false
		}
		line += countLines(data)
		lead = 0
	}
}

// chunk returns data as a document, or the error that has ended the stream early.
func (s *stream) chunk(source string, data []byte, lead int) Chunk {
	if s.err != nil {
		return Chunk{Source: source, Err: s.err}
	}
	return Chunk{Source: source, Data: data, Lead: lead, Packed: s.packed, lent: s.lent}
}

// free is an error if a file that was found in a folder has another role in this run.
// One that standard output is written to is no input, and own is true.
func (in *Input) free(path string, st fs.FileInfo) (own bool, err error) {
	if in.Files == nil {
		return false, nil
	}
	err = in.Files.Check(RoleInput, path, st, in.Use)
	var clash *atomicfile.Clash
	if errors.As(err, &clash) && clash.Roles[0] == RoleStdout {
		in.Skipped.Own = append(in.Skipped.Own, path)
		return true, nil
	}
	if err != nil {
		in.Clash = err
	}
	return false, err
}
