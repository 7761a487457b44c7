// Package unions reads, for tests, the types of blocks that the providers' official Go
// libraries know. It reads their sources in the module cache without importing them. A type
// that a library has and package wire does not is the next format that Pare would damage.
package unions

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A Union is the set of types that are allowed in one place.
type Union struct {
	Dialect string   `json:"dialect"`
	Place   string   `json:"place"` // item, block, result, system or request: a member outside of the history
	From    string   `json:"from"`  // the library's name for it
	Types   []string `json:"types"` // types, or members where these tell
}

// A List contains the unions of all libraries.
type List struct {
	Modules map[string]string `json:"modules"` // version by path
	Unions  []Union           `json:"unions"`
}

// a source is a union and how it is read.
type source struct {
	module, folder, dialect, place, from string
	read                                 func(*library, string) []string
}

const (
	anthropicSDK = "github.com/anthropics/anthropic-sdk-go"
	anthropicV2  = anthropicSDK + "/v2"
	openaiSDK    = "github.com/openai/openai-go/v3"
	genaiSDK     = "google.golang.org/genai"
	bedrockSDK   = "github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	steps        = "interactions/models/interactions"
)

var sources = []source{
	{anthropicSDK, "", "anthropic", "block", "BetaContentBlockParamUnion", (*library).variants},
	{anthropicSDK, "", "anthropic", "result", "BetaToolResultBlockParamContentUnion", (*library).variants},
	{openaiSDK, "", "openai-chat", "block", "ChatCompletionContentPartUnionParam", (*library).variants},
	{openaiSDK, "", "openai-chat", "block", "ChatCompletionAssistantMessageParamContentArrayOfContentPartUnion", (*library).variants},
	{openaiSDK, "", "openai-chat", "call", "ChatCompletionMessageToolCallUnionParam", (*library).variants},
	{openaiSDK, "responses", "openai-responses", "item", "ResponseInputItemUnionParam", (*library).variants},
	{openaiSDK, "", "openai-responses", "item", "BetaResponseInputItemUnionParam", (*library).variants},
	{openaiSDK, "responses", "openai-responses", "block", "ResponseInputContentUnionParam", (*library).variants},
	{openaiSDK, "responses", "openai-responses", "block", "ResponseOutputMessageContentUnionParam", (*library).variants},
	{openaiSDK, "responses", "openai-responses", "result", "ResponseFunctionCallOutputItemUnionParam", (*library).variants},
	{genaiSDK, "", "gemini", "block", "Part", (*library).members},
	{genaiSDK, steps, "gemini-interactions", "item", "StepType", (*library).constants},
	{genaiSDK, steps, "gemini-interactions", "block", "ContentType", (*library).constants},
	{genaiSDK, steps, "gemini-interactions", "result", "FunctionResultSubcontentType", (*library).constants},
	{bedrockSDK, "types", "bedrock", "block", "ContentBlockMember", (*library).named},
	{bedrockSDK, "types", "bedrock", "result", "ToolResultContentBlockMember", (*library).named},
	{bedrockSDK, "types", "bedrock", "system", "SystemContentBlockMember", (*library).named},
	{anthropicV2, "", "anthropic", "request", "MessageNewParams", (*library).members},
	{anthropicV2, "", "anthropic", "request", "BetaMessageNewParams", (*library).members},
	{anthropicV2, "", "anthropic", "request", "BetaMessageCountTokensParams", (*library).members},
	{openaiSDK, "", "openai-chat", "request", "ChatCompletionNewParams", (*library).members},
	{openaiSDK, "responses", "openai-responses", "request", "ResponseNewParams", (*library).members},
	{openaiSDK, "responses", "openai-responses", "request", "ResponseCompactParams", (*library).members},
	{openaiSDK, "responses", "openai-responses", "request", "InputTokenCountParams", (*library).members},
	{openaiSDK, "", "openai-responses", "request", "BetaResponseNewParams", (*library).members},
	{genaiSDK, steps, "gemini-interactions", "request", "CreateModelInteraction", (*library).members},
	{genaiSDK, steps, "gemini-interactions", "request", "CreateAgentInteraction", (*library).members},
	{bedrockSDK, "", "bedrock", "request", "ConverseInput", (*library).fields},
}

// Read reads the unions of the libraries in the given versions, or in the newest ones. It
// finds their sources with the go command and returns an error if one is missing.
func Read(versions map[string]string) (*List, error) {
	list := &List{Modules: map[string]string{}}
	folders := map[string]string{}
	libraries := map[string]*library{}
	for _, s := range sources {
		if folders[s.module] == "" {
			dir, version, err := download(s.module, versions[s.module])
			if err != nil {
				return nil, err
			}
			folders[s.module], list.Modules[s.module] = dir, version
		}
		dir := filepath.Join(folders[s.module], filepath.FromSlash(s.folder))
		if libraries[dir] == nil {
			l, err := open(dir)
			if err != nil {
				return nil, err
			}
			libraries[dir] = l
		}
		types := s.read(libraries[dir], s.from)
		if len(types) == 0 {
			return nil, fmt.Errorf("%s@%s has no union %s any more: find what took its place", s.module, list.Modules[s.module], s.from)
		}
		slices.Sort(types)
		list.Unions = append(list.Unions, Union{s.dialect, s.place, s.from, slices.Compact(types)})
	}
	return list, nil
}

// download returns where the source of a module is.
func download(module, version string) (dir, exact string, err error) {
	if version == "" {
		version = "latest"
	}
	cmd := exec.Command("go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir = os.TempDir() // the module of the test does not matter
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	var m struct{ Dir, Version, Error string }
	if json.Unmarshal(out, &m) == nil && m.Error != "" {
		return "", "", fmt.Errorf("download %s@%s: %s", module, version, m.Error)
	}
	if err != nil {
		return "", "", fmt.Errorf("download %s@%s: %w", module, version, err)
	}
	return m.Dir, m.Version, nil
}

// A library is the declarations of a package.
type library struct {
	structs map[string]*ast.StructType
	values  map[string][]string // of constants, by type
	order   []string            // names of structs, sorted
}

func open(dir string) (*library, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no Go files in %s", dir)
	}
	l := &library{structs: map[string]*ast.StructType{}, values: map[string][]string{}}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				l.declare(g)
			}
		}
	}
	slices.Sort(l.order)
	return l, nil
}

func (l *library) declare(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if t, ok := s.Type.(*ast.StructType); ok {
				l.structs[s.Name.Name] = t
				l.order = append(l.order, s.Name.Name)
			}
		case *ast.ValueSpec:
			name, ok := s.Type.(*ast.Ident)
			if !ok || len(s.Values) != 1 {
				continue
			}
			if lit, ok := s.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				value, _ := strconv.Unquote(lit.Value)
				l.values[name.Name] = append(l.values[name.Name], value)
			}
		}
	}
}

// variants are the types of the structs that a union has fields for.
func (l *library) variants(union string) (all []string) {
	t := l.structs[union]
	if t == nil {
		return nil
	}
	for _, f := range t.Fields.List {
		star, ok := f.Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		name, ok := star.X.(*ast.Ident)
		if !ok {
			continue
		}
		if l.structs[name.Name] != nil {
			all = append(all, l.typeOf(name.Name)...)
		}
	}
	return all
}

// typeOf returns the type that a struct declares; for a union, the types of its variants.
func (l *library) typeOf(name string) []string {
	for _, f := range l.structs[name].Fields.List {
		if tag(f, "json") != "type" {
			continue
		}
		if value := tag(f, "default"); value != "" {
			return []string{value}
		}
		if enum, ok := f.Type.(*ast.Ident); ok {
			return l.values[enum.Name]
		}
	}
	if strings.Contains(name, "Union") {
		return l.variants(name)
	}
	return nil
}

// members are the members of a struct.
func (l *library) members(name string) (all []string) {
	if t := l.structs[name]; t != nil {
		for _, f := range t.Fields.List {
			if m := tag(f, "json"); m != "" && m != "-" {
				all = append(all, m)
			}
		}
	}
	return all
}

// fields are the fields of a struct without tags, as they are written on the wire.
func (l *library) fields(name string) (all []string) {
	if t := l.structs[name]; t != nil {
		for _, f := range t.Fields.List {
			for _, n := range f.Names {
				all = append(all, lowerFirst(n.Name))
			}
		}
	}
	return all
}

func lowerFirst(name string) string { return string(unicode.ToLower(rune(name[0]))) + name[1:] }

// constants are the values of a type.
func (l *library) constants(name string) []string {
	return slices.DeleteFunc(slices.Clone(l.values[name]), func(v string) bool { return v == "UNKNOWN" })
}

// named are the structs whose names begin so, by the rest.
func (l *library) named(prefix string) (all []string) {
	for _, name := range l.order {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
			all = append(all, lowerFirst(rest))
		}
	}
	return all
}

// tag returns a key of a field's tag, up to the first comma.
func tag(f *ast.Field, key string) string {
	if f.Tag == nil {
		return ""
	}
	text, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return ""
	}
	value, _, _ := strings.Cut(reflect.StructTag(text).Get(key), ",")
	return value
}
