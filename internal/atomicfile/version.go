package atomicfile

import (
	"bytes"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
)

// A version is a file and its content at one time.
type version struct {
	info fs.FileInfo // nil: only the content is known
	size int64
	sum  [sha256.Size]byte
}

// readVersion reads the version of the file at name.
func (f *Files) readVersion(name string) (version, error) {
	if err := f.step("look", name); err != nil {
		return version{}, err
	}
	file, err := os.Open(name)
	if err != nil {
		return version{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return version{}, err
	}
	hash := sha256.New()
	n, err := io.Copy(hash, file)
	v := version{info: info, size: n}
	hash.Sum(v.sum[:0])
	return v, err
}

// isPrefixOf reports whether data begins with the content of the version.
func (v version) isPrefixOf(data []byte) bool {
	return int64(len(data)) >= v.size && sha256.Sum256(data[:v.size]) == v.sum
}

// isRoughlyAt reports whether the file at name seems unchanged. It does not read the content.
func (v version) isRoughlyAt(name string) bool {
	now, err := os.Stat(name)
	return err == nil && isSame(now, v.info)
}

// isSame reports whether a file is unchanged according to its size and times.
func isSame(now, was fs.FileInfo) bool {
	return os.SameFile(now, was) && now.Size() == was.Size() && now.ModTime().Equal(was.ModTime())
}

func (f *Files) stat(name string) (fs.FileInfo, error) {
	if err := f.step("look", name); err != nil {
		return nil, err
	}
	return os.Lstat(name)
}

func (f *Files) read(name string) ([]byte, error) {
	if err := f.step("look", name); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

// appendLines adds lines to the end of the file at path, in one write. It adds nothing if the last
// line there is incomplete, because a program may be writing it.
func (f *Files) appendLines(path string, lines []byte) (isAdded bool, err error) {
	data, err := f.read(path)
	if err != nil {
		return false, err
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		return false, nil
	}
	return true, f.appendBytes(path, lines)
}

func (f *Files) appendBytes(path string, data []byte) error {
	if err := f.step("append", path); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(data); err != nil {
		return err
	}
	return file.Sync()
}

// missingLines returns the bytes that must be added to data, so that it has all lines. data may
// end in a part of one of them, which an append that was killed leaves.
func missingLines(data, lines []byte) []byte {
	have := map[string]bool{}
	for line := range bytes.Lines(data) {
		have[string(line)] = true
	}
	tail := data[bytes.LastIndexByte(data, '\n')+1:]
	var missing []byte
	for line := range bytes.Lines(lines) {
		switch {
		case have[string(line)]:
		case len(missing) == 0 && len(tail) > 0 && bytes.HasPrefix(line, tail):
			missing = append(missing, line[len(tail):]...)
		case len(missing) == 0 && len(tail) > 0:
			missing = append(append(missing, '\n'), line...)
		default:
			missing = append(missing, line...)
		}
	}
	return missing
}
