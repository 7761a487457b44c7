package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/pare-llm/pare/internal/rulelist"
)

var update = flag.Bool("update", false, "rewrite the files that are made from the code")

const schemaFile = "pare.schema.json"

// TestSchemaFresh makes the schema from the structs and wants the published one to
// be the same.
func TestSchemaFresh(t *testing.T) {
	g := schemaMaker{comments: fieldComments(t, ".", "../../rules")}
	s := g.table(reflect.TypeFor[Config]())
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.ID = "https://github.com/pare-llm/pare/blob/main/internal/config/pare.schema.json"
	s.Title = "pare"
	s.Description = "How pare repairs and prunes histories. pare.toml has the same keys."
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Indent(&want, raw, "", "  "); err != nil {
		t.Fatal(err)
	}
	want.WriteByte('\n')
	if *update {
		if err := os.WriteFile(schemaFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(Schema, want.Bytes()) {
		t.Errorf("%s is stale; run go test ./config -run TestSchemaFresh -update", schemaFile)
	}
}

// A schemaMaker turns structs into a schema by the same tags that decode reads, with
// the comments of the fields as descriptions.
type schemaMaker struct{ comments map[string]string }

func (g *schemaMaker) table(parts ...reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: nothing()}
	for _, t := range parts {
		for _, f := range fieldsOf(t) {
			p := g.schema(f.typ, f.tag)
			p.Description = g.comments[f.owner.Name()+"."+f.name]
			s.Properties[f.key] = p
			s.PropertyOrder = append(s.PropertyOrder, f.key)
			if f.tag.Get("required") != "" {
				s.Required = append(s.Required, f.key)
			}
		}
	}
	return s
}

// rules has a table for each rule that there is.
func (g *schemaMaker) rules() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: nothing()}
	for _, e := range rulelist.All() {
		var parts []reflect.Type
		for _, part := range newTable(e).parts() {
			parts = append(parts, part.Type())
		}
		p := g.table(parts...)
		p.Description = described(e)
		s.Properties[e.Name] = p
		s.PropertyOrder = append(s.PropertyOrder, e.Name)
	}
	return s
}

// described says what a rule does, and when if that is not always.
func described(e rulelist.Entry) string {
	text := strings.ToUpper(e.Doc[:1]) + e.Doc[1:] + "."
	switch home := homes[e.Name]; {
	case home != "":
		text += " What that is, is set in " + home + "."
	case !e.Standard:
		text += " It runs if it has a table."
	}
	return text
}

// nothing is the schema that no value fits.
func nothing() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

func (g *schemaMaker) schema(t reflect.Type, tag reflect.StructTag) *jsonschema.Schema {
	if t.Kind() == reflect.Pointer {
		return g.schema(t.Elem(), tag)
	}
	if t == reflect.TypeFor[Tables]() {
		return g.rules()
	}
	s := &jsonschema.Schema{}
	if r, ok := reflect.New(t).Interface().(reader); ok {
		if s.Types, s.Pattern = r.shape(); len(s.Types) == 1 {
			s.Type, s.Types = s.Types[0], nil
		}
		return s
	}
	switch t.Kind() {
	case reflect.Struct:
		return g.table(t)
	case reflect.Map:
		s.Type, s.AdditionalProperties = "object", g.schema(t.Elem(), tag)
	case reflect.Slice:
		s.Type, s.Items = "array", g.schema(t.Elem(), tag)
	case reflect.String:
		s.Type = "string"
		if enum := tag.Get("enum"); enum != "" {
			for _, choice := range strings.Split(enum, ",") {
				s.Enum = append(s.Enum, choice)
			}
		}
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.Int, reflect.Int64, reflect.Float64:
		s.Type = "integer"
		if t.Kind() == reflect.Float64 {
			s.Type = "number"
		}
		low, high := bounds(tag)
		s.Minimum = &low
		if high != largest {
			s.Maximum = &high
		}
	default:
		panic("no schema for a " + t.String())
	}
	return s
}

// fieldComments reads the comments of all struct fields, by Type.Field.
func fieldComments(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if st, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range st.Fields.List {
						for _, name := range f.Names {
							all[spec.Name.Name+"."+name.Name] = comment(f)
						}
					}
				}
				return true
			})
		}
	}
	return all
}

func comment(f *ast.Field) string {
	text := f.Doc.Text()
	if text == "" {
		text = f.Comment.Text()
	}
	return strings.Join(strings.Fields(text), " ")
}
