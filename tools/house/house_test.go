package house

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pare-llm/pare"

// A floor is a package and what it may stand on. Packages that are not listed may
// not exist.
type floor struct {
	level int
	// beside names packages outside the standard library that it may import; nil
	// is none, and for floors 5 and above everything is allowed.
	beside []string
	why    string
}

// floors is the plan of the house; docs/internals/architecture.md has the picture.
var floors = map[string]floor{
	"internal/jsonspan":       {0, nil, "scans bytes and knows nothing above them"},
	"internal/inside":         {0, nil, "is a key and nothing else"},
	"internal/cpu":            {0, nil, "asks the processor and knows nobody who uses it"},
	"internal/benchdata":      {0, nil, "makes bodies for benchmarks"},
	"tools/house":             {0, nil, "tests only"},
	"internal/atomicfile":     {0, nil, "writes files for every floor"},
	"internal/plain":          {0, nil, "makes text safe to show, for every floor"},
	"internal/suggest":        {0, nil, "compares names and knows none"},
	"internal/breaker":        {0, nil, "counts the failures of a function and knows nothing of it"},
	"internal/grapheme":       {0, nil, "cuts texts and knows nothing of them"},
	"internal/names":          {0, nil, "finds names in texts and knows nobody who needs them"},
	"tools/doctest":           {0, nil, "tests only"},
	"tools/extend":            {0, nil, "tests only"},
	"tools/release":           {0, nil, "builds the program and knows nothing of it"},
	"internal/corpus":         {0, nil, "reads recorded transcripts for tests, and knows no dialect"},
	"internal/trial":          {0, nil, "serves the tests of every floor"},
	"tools/unions":            {0, nil, "reads other people's sources, and knows nothing of ours"},
	"tools/testrun":           {0, nil, "runs the tests of every floor"},
	"transcript":              {1, nil, "is the index alone; it knows no wire format and no JSON"},
	"wire":                    {2, nil, "knows the formats; deciding is for the engine above"},
	"tokens":                  {2, nil, "counts texts and knows models; the engine chooses a counter with it, requests are not its business"},
	"archive":                 {2, nil, "keeps bytes by what they are, for whoever takes them out"},
	"internal/needs":          {2, nil, "spreads marks over atoms, for the settlement and the ladder"},
	"internal/refusal":        {3, nil, "knows what providers say when they refuse a request, and nothing of who sends it"},
	"internal/guidance":       {3, nil, "recognizes texts that agents work by; rules and windows decide what follows"},
	"internal/tally":          {3, nil, "says what the tokens of a request go to, for whoever shows them"},
	"internal/rulelist":       {4, nil, "lists the standard rules by name, for configurations and the command line"},
	"internal/wording":        {0, nil, "has texts and knows nobody who writes them"},
	"internal/fullness":       {4, nil, "weighs requests with the models that tokens knows, for commands and pages"},
	"internal/ladder":         {3, nil, "is the part of the engine that fits a window; it knows no receipts and no events"},
	"proxy/internal/recall":   {3, nil, "reads and writes replies that call one tool; it knows no plan and no network"},
	"":                        {3, nil, "the engine is embedded by others and brings no dependency"},
	"rules":                   {4, nil, "rules use what any user's rule could use"},
	"summary":                 {4, nil, "summarizers use what any user's could use"},
	"paretest":                {4, nil, "a stand-in for the providers, embedded by others"},
	"internal/jsonedit":       {1, nil, "reads and writes members of JSON, and knows no dialect"},
	"internal/jsontree":       {1, nil, "reads and writes JSON for tests, and knows no dialect"},
	"internal/histories":      {3, nil, "makes conversations for tests"},
	"internal/config":         {5, []string{}, "reads files for the command line and the proxy"},
	"config":                  {6, []string{}, "is what users see of internal/config"},
	"cmd/internal/replay":     {5, []string{}, "replays stored histories, with prices"},
	"internal/agentlog":       {5, []string{}, "reads agents' own session files"},
	"agentlog":                {6, []string{}, "is what users see of internal/agentlog"},
	"store":                   {5, []string{}, "keeps sessions"},
	"internal/fault":          {5, []string{}, "lets calls fail in tests"},
	"internal/pgtest":         {5, []string{}, "runs a database for tests"},
	"proxy":                   {5, []string{}, "serves requests"},
	"cmd/internal/background": {6, []string{}, "compacts sessions while agents go on"},
	"cmd/internal/serve":      {7, []string{}, "puts the server together"},
	"cmd/internal/ui":         {5, []string{}, "shows pages"},
	"tools/engine":            {5, nil, "tests only"},
	"tools/truth":             {5, nil, "tests only"},
	"internal/oracle":         {0, nil, "knows the providers' rules by itself, so that it can contradict wire"},
	"cmd/internal/trust":      {1, nil, "lists files by path and hash, and does not read their content"},
	"cmd/internal/agentconf":  {5, []string{}, "reads the settings of agents, and opens no connection"},
	"cmd/internal/screen":     {5, []string{}, "prints for people: safe, measured, painted"},
	"cmd/internal/manual":     {6, []string{}, "makes pages of any grammar"},
	"cmd/internal/picture":    {6, []string{}, "draws messages for people"},
	"cmd/internal/tables":     {6, []string{}, "reads and writes agents' databases"},
	"cmd/internal/source":     {7, []string{}, "finds and reads input, agents' files included"},
	"internal/hosts":          {5, []string{}, "reads the lists that programs hold"},
	"internal/engine":         {6, []string{}, "is called by other languages"},
	"cmd/playground":          {8, []string{}, "is the engine and a page in a browser"},
	"bindings":                {8, []string{}, "tests only"},
	"bindings/c":              {8, []string{}, "is a library for C"},
	"cmd/pare":                {8, []string{}, "wires everything together"},
	"tools/campaign":          {6, []string{}, "runs agents on repaired sessions"},
	"tools/motion":            {6, []string{}, "compares two binaries"},
	"tools/load":              {6, []string{}, "compares proxies"},
	"tools/floors":            {6, []string{}, "measures speeds"},
	"tools/prose":             {0, nil, "counts words"},
}

// below lists, for packages that may not import everything below them, what they
// may import of the house.
var below = map[string][]string{
	"transcript":        {"internal/inside"},
	"internal/cpu":      {},
	"internal/jsonspan": {"internal/cpu"},
	"tokens":            {"internal/cpu", "internal/inside"},
	"archive":           {"internal/jsonspan"},
	"internal/oracle":   {},
}

// parts lists, for packages that are made of several, those of their own floor.
var parts = map[string][]string{
	"":                  {"internal/guidance", "internal/ladder"},
	"internal/jsonspan": {"internal/cpu"},
	"internal/rulelist": {"rules"},
}

type pkg struct {
	ImportPath  string
	Imports     []string
	TestImports []string
	Dir         string
	GoFiles     []string
	CgoFiles    []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Dir,GoFiles,CgoFiles", "./...", "./bindings/...", "./cmd/...", "./store/...", "./tools/...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// TestFloors walks the import graph and gives the reason for each forbidden edge.
func TestFloors(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		f, ok := floors[name]
		if !ok {
			t.Errorf("package %q stands on no floor; give it one in this table and in docs/internals/architecture.md", name)
			continue
		}
		for _, imp := range p.Imports {
			if why := forbidden(name, f, imp); why != "" {
				t.Errorf("%s (floor %d) imports %s: %s; it %s", name, f.level, imp, why, f.why)
			}
		}
	}
}

func forbidden(name string, f floor, imp string) string {
	other, inside := strings.CutPrefix(imp, module)
	other = strings.TrimPrefix(other, "/")
	if !inside {
		std := !strings.Contains(strings.Split(imp, "/")[0], ".")
		if !std && f.level < 5 && !slices.Contains(f.beside, imp) {
			return "floors 0 to 4 use the standard library only, so that anybody can embed them"
		}
		return ""
	}
	o := floors[other]
	switch only, limited := below[name]; {
	case limited && !slices.Contains(only, other):
		return "it may stand on the standard library only"
	case slices.Contains(parts[name], other):
		return ""
	case o.level >= f.level:
		return "a package may import only what stands below it"
	}
	return ""
}

// TestPackageDocs wants exactly one package comment that begins as it should.
func TestPackageDocs(t *testing.T) {
	for _, p := range list(t) {
		var docs []string
		name := ""
		for _, f := range slices.Concat(p.GoFiles, p.CgoFiles) {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			name = parsed.Name.Name
			if parsed.Doc != nil {
				docs = append(docs, parsed.Doc.Text())
			}
		}
		want := "Package " + name + " "
		if name == "main" {
			want = "Command " + filepath.Base(p.ImportPath) + " "
		}
		if len(docs) != 1 || !strings.HasPrefix(docs[0], want) {
			t.Errorf("%s: want exactly one package comment that begins with %q, found %d", p.ImportPath, want, len(docs))
		}
	}
}
