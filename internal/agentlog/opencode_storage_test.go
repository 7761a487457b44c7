package agentlog

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// An ocStorage generates a random storage like opencode 1.1: a file for each session, message and
// part.
type ocStorage struct {
	r     *rand.Rand
	files map[string]string
	n     int
}

type fields map[string]any

func (s *ocStorage) id(kind string) string { s.n++; return fmt.Sprintf("%s_%04d", kind, s.n) }

func (s *ocStorage) put(name string, f fields) {
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		panic(err)
	}
	s.files[name] = string(raw)
}

// part adds a part to a message.
func (s *ocStorage) part(session, message, kind string, more fields) string {
	f := fields{"id": s.id("prt"), "sessionID": session, "messageID": message, "type": kind}
	maps.Copy(f, more)
	s.put(fmt.Sprintf("part/%s/%s.json", message, f["id"]), f)
	return f["id"].(string)
}

func (s *ocStorage) message(session, role string, more fields) string {
	f := fields{"id": s.id("msg"), "sessionID": session, "role": role, "time": fields{"created": s.n}}
	maps.Copy(f, more)
	s.put(fmt.Sprintf("message/%s/%s.json", session, f["id"]), f)
	return f["id"].(string)
}

func (s *ocStorage) user(session string) string {
	m := s.message(session, "user", fields{"agent": "build", "model": fields{"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}})
	s.part(session, m, "text", fields{"text": fmt.Sprintf("The user says word%04d.", s.n)})
	if s.r.IntN(6) == 0 {
		s.part(session, m, "file", fields{"mime": "text/plain", "filename": "a.txt", "url": "file:///a.txt"})
	}
	return m
}

func (s *ocStorage) tool(session, message string) {
	state := fields{"status": "completed", "input": fields{"command": "ls"}, "output": fmt.Sprintf("output%04d", s.n), "title": "ls", "metadata": fields{}, "time": fields{"start": 1, "end": 2}}
	switch s.r.IntN(8) {
	case 0:
		state = fields{"status": "error", "input": fields{"command": "ls"}, "error": "it failed", "time": fields{"start": 1, "end": 2}}
	case 1:
		state = fields{"status": "running", "input": fields{"command": "ls"}, "time": fields{"start": 1}}
	case 2:
		state = fields{"status": "pending", "input": fields{}, "raw": ""}
	}
	s.part(session, message, "tool", fields{"callID": s.id("toolu"), "tool": "bash", "state": state})
}

func (s *ocStorage) assistant(session, parent string, more fields) string {
	m := fields{"parentID": parent, "modelID": "claude-sonnet-4-5", "providerID": "anthropic", "mode": "build", "path": fields{"cwd": "/p", "root": "/p"}, "cost": 0, "finish": "stop"}
	maps.Copy(m, more)
	id := s.message(session, "assistant", m)
	for range 1 + s.r.IntN(2) {
		s.part(session, id, "step-start", nil)
		if s.r.IntN(2) == 0 {
			s.part(session, id, "reasoning", fields{"text": "hm", "time": fields{"start": 1}})
		}
		s.part(session, id, "text", fields{"text": fmt.Sprintf("The model says reply%04d.", s.n)})
		for range s.r.IntN(4) {
			s.tool(session, id)
		}
		if s.r.IntN(5) == 0 {
			s.part(session, id, "patch", fields{"hash": "x", "files": []string{}})
		}
		if s.r.IntN(7) == 0 {
			s.part(session, id, "of-tomorrow", fields{"what": 1})
		}
		s.part(session, id, "step-finish", fields{"reason": "stop", "cost": 0})
	}
	return id
}

func (s *ocStorage) session(parent string) string {
	id := s.id("ses")
	f := fields{"id": id, "slug": "s", "version": "1.1.65", "projectID": "proj", "directory": "/p", "title": "T", "time": fields{"created": 1, "updated": 2}}
	if parent != "" {
		f["parentID"] = parent
	}
	s.put("session/proj/"+id+".json", f)
	for turn := range 1 + s.r.IntN(4) {
		u := s.user(id)
		if turn > 0 && s.r.IntN(5) == 0 {
			c := s.message(id, "user", fields{"agent": "build"})
			s.part(id, c, "compaction", fields{"auto": true})
			m := s.message(id, "assistant", fields{"parentID": c, "summary": true, "mode": "compaction", "finish": "stop", "modelID": "claude-sonnet-4-5"})
			s.part(id, m, "text", fields{"text": "What was said: a lot."})
			u = s.user(id)
		}
		switch s.r.IntN(8) {
		case 0: // killed immediately
		case 1:
			s.assistant(id, u, fields{"error": fields{"name": "MessageAbortedError", "data": fields{"message": "x"}}})
		case 2:
			s.assistant(id, u, fields{"error": fields{"name": "APIError", "data": fields{"message": "x"}}})
		default:
			s.assistant(id, u, nil)
		}
	}
	return id
}

// A storageDamage damages files of a storage and returns a description.
type storageDamage struct {
	name string
	do   func(s *ocStorage, name string) bool
}

var storageDamages = []storageDamage{
	{"missing", func(s *ocStorage, name string) bool { delete(s.files, name); return true }},
	{"torn", func(s *ocStorage, name string) bool {
		s.files[name] = s.files[name][:s.r.IntN(len(s.files[name]))]
		return true
	}},
	{"nulls", func(s *ocStorage, name string) bool {
		s.files[name] = strings.Repeat("\x00", len(s.files[name]))
		return true
	}},
	{"nulls at the end", func(s *ocStorage, name string) bool {
		n := s.r.IntN(len(s.files[name]))
		s.files[name] = s.files[name][:n] + strings.Repeat("\x00", len(s.files[name])-n)
		return true
	}},
	{"no object", func(s *ocStorage, name string) bool { s.files[name] = "null"; return true }},
	{"mark", func(s *ocStorage, name string) bool { s.files[name] = "\ufeff" + s.files[name]; return true }},
	{"crlf", func(s *ocStorage, name string) bool {
		s.files[name] = strings.ReplaceAll(s.files[name], "\n", "\r\n") + "\r\n"
		return true
	}},
	{"twice", func(s *ocStorage, name string) bool { s.files[name] += s.files[name]; return true }},
	{"copy under another name", func(s *ocStorage, name string) bool {
		s.files[strings.TrimSuffix(name, ".json")+" (copy).json"] = s.files[name]
		return true
	}},
	{"copy into another folder", func(s *ocStorage, name string) bool {
		to := path.Join(path.Dir(s.pick("part/")), path.Base(name))
		if !strings.HasPrefix(name, "part/") || s.files[to] != "" {
			return false
		}
		s.files[to] = s.files[name]
		return true
	}},
	{"id of another", func(s *ocStorage, name string) bool {
		other := s.pick(strings.SplitAfter(name, "/")[0])
		return s.edit(name, func(f fields) bool {
			f["id"] = strings.TrimSuffix(path.Base(other), ".json")
			return other != name
		})
	}},
	{"call id of another", func(s *ocStorage, name string) bool {
		var call any
		s.edit(s.pick("part/"), func(f fields) bool { call = f["callID"]; return false })
		return call != nil && s.edit(name, func(f fields) bool {
			if f["callID"] == nil {
				return false
			}
			f["callID"] = call
			return true
		})
	}},
	{"member lost", func(s *ocStorage, name string) bool {
		return s.edit(name, func(f fields) bool {
			keys := slices.Sorted(maps.Keys(f))
			k := keys[s.r.IntN(len(keys))]
			if k == "text" {
				return false
			}
			delete(f, k)
			return true
		})
	}},
	{"state", func(s *ocStorage, name string) bool {
		return s.edit(name, func(f fields) bool {
			state, ok := f["state"].(map[string]any)
			if !ok {
				return false
			}
			switch s.r.IntN(7) {
			case 0:
				delete(state, "output")
				delete(state, "error")
			case 1:
				state["status"] = "running"
			case 2:
				state["status"] = "of-tomorrow"
			case 3:
				delete(state, "status")
			case 4:
				delete(state, "time")
			case 5:
				delete(state, "input")
			case 6:
				f["state"] = nil
			}
			return true
		})
	}},
	{"no text", func(s *ocStorage, name string) bool {
		i := strings.Index(s.files[name], "says")
		if i < 0 {
			return false
		}
		s.files[name] = s.files[name][:i+4] + "\xff\xfe" + s.files[name][i+4:]
		return true
	}},
	{"foreign file", func(s *ocStorage, name string) bool {
		s.files[path.Join(path.Dir(name), ".DS_Store")] = "x"
		s.files[path.Join(path.Dir(name), "x.json.tmp")] = `{"id":`
		return true
	}},
}

// pick returns a random file below a folder.
func (s *ocStorage) pick(below string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if strings.HasPrefix(name, below) && strings.HasSuffix(name, ".json") && len(s.files[name]) > 0 {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[s.r.IntN(len(all))]
}

// edit changes a readable file.
func (s *ocStorage) edit(name string, change func(fields) bool) bool {
	var f fields
	if json.Unmarshal([]byte(s.files[name]), &f) != nil || f == nil || !change(f) {
		return false
	}
	s.put(name, f)
	return true
}
