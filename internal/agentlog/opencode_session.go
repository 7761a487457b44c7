package agentlog

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// tornSessions returns the session files that are not objects. One such file makes opencode lose
// all sessions of the project. Other session files do not affect requests.
func tornSessions(fsys fs.FS, root string) (files []File, err error) {
	names, err := fs.Glob(fsys, path.Join(root, "session/*/*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		raw, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		if _, _, ok := (storedFile{span: jsonspan.Span{End: len(raw)}}).object(raw); !ok {
			files = append(files, File{name, raw})
		}
	}
	return files, nil
}

// sessionFile returns a session file with the complete members of a torn one. It takes the others
// from the session's messages; opencode requires all of them.
func (openCode) sessionFile(l *Log, torn []byte, project, id string) []byte {
	out := wholeMembers(torn)
	o := objectOf(out)
	first, last, folder, parent := "", "", "/", ""
	for _, u := range l.units {
		m := objectAt(l.raw, u.span)
		if m.Text("tool") == "task" && m.Object("state").Object("metadata").Text("sessionId") == id {
			parent = m.Text("sessionID") // the session of a sub-agent
		}
		if m.Text("sessionID") != id || !m.Has("role") {
			continue
		}
		folder = cmp.Or(m.Object("path").Text("cwd"), folder)
		if at := string(m.Object("time").Value("created")); at != "" {
			first, last = cmp.Or(first, at), at
		}
	}
	for _, must := range []struct {
		name  string
		value []byte
	}{
		{"id", quote(id)}, {"slug", quote(id)}, {"version", quote("local")}, {"projectID", quote(project)}, {"directory", quote(folder)},
		{"parentID", quote(parent)}, {"title", quote("Session")},
		{"time", write("created", []byte(cmp.Or(first, "0")), "updated", []byte(cmp.Or(last, "0")))},
	} {
		if !o.Has(must.name) && (must.name != "parentID" || parent != "") {
			out = setMembers(out, must.name, must.value)
		}
	}
	return out
}

// wholeMembers returns an object with the complete members of a truncated one.
func wholeMembers(torn []byte) []byte {
	depth, quoted, end := 0, false, -1
	for i := 0; i < len(torn); i++ {
		switch c := torn[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 1:
			end = i
		}
	}
	if end > 0 {
		out := append(bytes.Clone(torn[:end]), '}')
		if at, ok := wholeObject(out); ok {
			return out[at.Start:at.End]
		}
	}
	return []byte("{}")
}
