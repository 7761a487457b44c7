package main

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

var handedOut = []string{
	"pare.Ballot", "pare.Exchange", "pare.Plan", "pare.Removed", "transcript.Transcript",
	"wire.Request", "tokens.Encoding", "tokens.Func", "archive.Writer", "replay.Walk",
	"agentlog.Busy", "agentlog.Diagnosis", "agentlog.Log", "agentlog.Stored", "agentlog.Thread", "agentlog.RepairPlan", "ui.Page",
	"store.Compaction", "store.Receipts",
}

var zeros = []any{
	new(pare.CompactionError), new(pare.Compactor), new(pare.Conservation), new(pare.FaultError),
	new(pare.Pipeline), new(pare.PipelineError), new(pare.Policy), new(pare.RefusedError),
	new(pare.UnknownModelError), new(pare.WindowTooSmall),
	new(transcript.Cut), new(transcript.Kind), new(transcript.Outcome), new(transcript.Role), new(transcript.Span),
	new(transcript.State),
	new(wire.Dialect), new(wire.Envelope), new(wire.ForeignError), new(wire.Profile), new(wire.Rule),
	new(tokens.Cache), new(tokens.Counter), new(tokens.Estimator), new(tokens.Factor), new(tokens.Model), new(tokens.Price),
	new(archive.File), new(archive.Item), new(archive.Line),
	new(rules.Deduplication), new(rules.ErrorPurging), new(rules.Hazard), new(rules.OptionError), new(rules.OptionErrors),
	new(rules.Oversized), new(rules.Protect), new(rules.Recency), new(rules.SupersededWrites),
	new(config.Config), new(config.Duration), new(config.Error), new(config.Errors), new(config.EvalError), new(config.Limit), new(config.Mark), new(config.Stop),
	new(config.Table), new(config.TiesError), new(config.UnknownRuleError), new(config.VocabularyError),
	new(replay.Amount), new(replay.Result),
	new(agentlog.Detector), new(agentlog.Effect), new(agentlog.Finding), new(agentlog.Format),
	new(agentlog.Kind), new(agentlog.Note), new(agentlog.Outlook), new(agentlog.Place), new(agentlog.Size),
	new(agentlog.Undoer), new(agentlog.UnreadError), new(agentlog.Writer),
	new(store.Archive), new(store.Call), new(store.ConflictError), new(store.CorruptError), new(store.DuplicateError), new(store.EntryError),
	new(store.Key), new(store.Problem), new(store.Store),
	new(proxy.BodyError), new(proxy.Conversations), new(proxy.Handler), new(proxy.Learned), new(proxy.RecordedExchange), new(proxy.Record), new(proxy.Transport),
}

// TestZeroValuesDoNotPanic calls the methods of the zero values of all exported types.
func TestZeroValuesDoNotPanic(t *testing.T) {
	seen := make(map[string]bool)
	for _, name := range handedOut {
		seen[name] = true
	}
	for _, zero := range zeros {
		v := reflect.ValueOf(zero)
		seen[v.Type().Elem().String()] = true
		for i := range v.NumMethod() {
			if p := panics(v.Method(i)); p != nil {
				t.Errorf("%s.%s: %v", v.Type().Elem(), v.Type().Method(i).Name, p)
			}
		}
	}
	for _, folder := range []string{".", "transcript", "wire", "tokens", "archive", "rules", "summary", "internal/config", "internal/agentlog", "store", "proxy"} {
		for _, name := range typesWithMethods(t, filepath.Join("..", "..", folder)) {
			if !seen[name] {
				t.Errorf("%s is looked at by nobody", name)
			}
		}
	}
}

func typesWithMethods(t *testing.T, folder string) (all []string) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(folder, err)
	}
	types, methods := make(map[string]bool), make(map[string]bool)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() && !s.Assign.IsValid() {
						_, abstract := s.Type.(*ast.InterfaceType)
						types[f.Name.Name+"."+s.Name.Name] = !abstract
					}
				}
			case *ast.FuncDecl:
				if d.Recv == nil || !d.Name.IsExported() {
					continue
				}
				of := d.Recv.List[0].Type
				if p, ok := of.(*ast.StarExpr); ok {
					of = p.X
				}
				if name, ok := of.(*ast.Ident); ok {
					methods[f.Name.Name+"."+name.Name] = true
				}
			}
		}
	}
	for name := range methods {
		if types[name] {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func panics(m reflect.Value) (with any) {
	defer func() { with = recover() }()
	var args []reflect.Value
	for i := range m.Type().NumIn() {
		in := m.Type().In(i)
		if m.Type().IsVariadic() && i == m.Type().NumIn()-1 {
			continue
		}
		if in == reflect.TypeFor[context.Context]() {
			args = append(args, reflect.ValueOf(context.Background()))
			continue
		}
		if k := in.Kind(); k == reflect.Pointer || k == reflect.Interface || k == reflect.Func {
			return nil
		}
		args = append(args, reflect.Zero(in))
	}
	m.Call(args)
	return nil
}
