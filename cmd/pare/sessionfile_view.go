package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/cmd/internal/ui"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/wire"
)

// sessionThreads returns the threads of a session to show, the main one first.
func (v *viewRun) sessionThreads(chunk source.Chunk) ([]*shownThread, error) {
	session, err := readSession(chunk, v.options)
	if err != nil {
		return nil, err
	}
	sent := session.Sent()
	chosen := slices.Clone(sent)
	for _, thread := range session.Threads {
		if !slices.Contains(sent, thread) {
			chosen = append(chosen, thread)
		}
	}
	switch {
	case len(chosen) == 0:
		return nil, errors.New("this session is empty")
	case v.Thread != "":
		if chosen, err = findThread(chosen, v.Thread); err != nil {
			return nil, err
		}
	case len(sent) > 1:
		return nil, hintedError{fmt.Errorf("it holds %d sessions", len(sent)), "a page shows one: " + threadHint(chosen)}
	}
	findings := session.Check(wire.CheckOptions{Strict: v.Strict, Advice: v.Advice})
	var threads []*shownThread
	for i, thread := range chosen {
		s := &shownThread{from: origin{source: v.Path, skippedBytes: chunk.Lead}, req: thread.Stored(), lineOf: session.Lines(thread), notes: session.Notes(thread), title: session.Title(), agent: session.Format.Maker()}
		switch {
		case slices.Contains(sent, thread):
			s.thread, s.counted = thread, session.Counted(thread)
		case thread.Kind == agentlog.Side:
			s.label = "sub-agent"
		}
		if len(chosen) > 1 || v.Thread != "" {
			s.from.thread = thread.Name
		}
		for _, finding := range findings {
			if finding.Of() == thread || finding.Of() == nil && i == 0 {
				s.findings = append(s.findings, finding.Finding)
			}
		}
		threads = append(threads, s)
	}
	if v.Thread == "" {
		threads = append(threads, v.readSubAgents(chunk)...)
	}
	return threads, v.addFileChanges(session, threads[0])
}

// addFileChanges adds the changes of pare fix to thread that do not concern messages: links, line
// ends, records of the agent.
func (v *viewRun) addFileChanges(session sessionFile, s *shownThread) error {
	if v.Plan != "fix" || s.thread == nil {
		return nil
	}
	fixed, err := session.Fix(agentlog.Options{Profile: v.options.Profile, Model: v.options.Model, Check: wire.CheckOptions{Strict: v.Strict}})
	if err != nil {
		return nil // the page still shows the messages
	}
	plan, err := v.plan(&agentlog.Thread{Request: s.req}, s.measure())
	if err != nil {
		return err
	}
	told := make(map[string]int)
	for _, change := range plan.Changes() {
		told[change.Rule]++
	}
	for _, change := range fixed.Changes {
		if told[change.Rule]--; told[change.Rule] < 0 {
			s.fileChanges = append(s.fileChanges, change)
		}
	}
	return nil
}

// readSubAgents returns the threads that Claude Code keeps in separate files next to the session.
func (v *viewRun) readSubAgents(chunk source.Chunk) (threads []*shownThread) {
	const most, large = 50, 32 << 20
	base, found := strings.CutSuffix(v.Path, ".jsonl")
	if chunk.Agent != agentlog.ClaudeCode || !found {
		return nil
	}
	names, _ := filepath.Glob(filepath.Join(base, "subagents", "agent-*.jsonl"))
	for _, name := range names[:min(len(names), most)] {
		if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() || st.Size() > large {
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		l, err := agentlog.Read(name, raw, agentlog.Options{Format: agentlog.ClaudeCode, Profile: v.options.Profile, Model: v.options.Model})
		if err != nil || len(l.Threads) == 0 {
			continue // the user did not ask for this file
		}
		thread := l.Threads[0]
		from := origin{source: name, thread: strings.TrimSuffix(filepath.Base(name), ".jsonl")}
		threads = append(threads, &shownThread{from: from, req: thread.Stored(), lineOf: l.Lines(thread), notes: l.Notes(thread), label: "sub-agent"})
	}
	return threads
}

// findThread returns the thread with a name, which may omit the prefix.
func findThread(all []*agentlog.Thread, name string) ([]*agentlog.Thread, error) {
	for _, thread := range all {
		if thread.Name == name || strings.TrimPrefix(strings.TrimPrefix(thread.Name, "side "), "session ") == name {
			return []*agentlog.Thread{thread}, nil
		}
	}
	return nil, hintedError{fmt.Errorf("there is no thread %q", name), threadHint(all)}
}

func threadHint(all []*agentlog.Thread) string {
	const most = 5
	var names []string
	for i, thread := range all {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(all)-most))
			break
		}
		names = append(names, screen.QuoteWord(thread.Name))
	}
	return "--thread is one of " + strings.Join(names, ", ")
}

// buildPage returns one page for several threads. The first one is the thread that is sent.
func buildPage(threads []*shownThread) *ui.Page {
	page := threads[0].page()
	if len(threads) == 1 {
		return page
	}
	page.Source, page.Thread = origin{source: threads[0].from.source}.String(), threads[0].from.thread
	for _, s := range threads[1:] {
		page.Others = append(page.Others, ui.Thread{Name: s.from.thread, What: s.label, Side: s.page().Before})
	}
	return page
}

func formatOtherThreads(style picture.Style, threads []*shownThread) []byte {
	if len(threads) < 2 {
		return nil
	}
	var names []string
	for _, s := range threads[1:] {
		names = append(names, fmt.Sprintf("%s (%s)", screen.QuoteWord(s.from.thread), plural(len(s.req.Transcript().Messages()), "message")))
	}
	return screen.Appendf(nil, "\n%s\n", style.Paint.Faint("not sent: "+strings.Join(names, ", ")+"; --thread NAME shows it"))
}
