package bindings

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const duckdb = `import { DuckDBInstance } from "@duckdb/node-api";
import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
const [dir, pare, work] = process.argv.slice(-3);
process.chdir(work);
const db = await (await DuckDBInstance.create(":memory:")).connect();
const all = async name => { for (const s of readFileSync(dir + "/" + name, "utf8").split(";")) if (s.trim()) await db.run(s); };
await all("out.sql");
execFileSync(pare, ["fix", "--field", "/sample", "out.jsonl", "-o", "fixed.jsonl"], { stdio: "ignore" });
try { execFileSync("sh", ["-c", pare + " check --json --field /sample out.jsonl > findings.jsonl"], { stdio: "ignore" }); } catch (e) { if (e.status !== 1) throw e; }
await all("in.sql");
for (const q of ["FROM wrong", "SELECT count(*) AS n FROM changed"]) console.log(JSON.stringify((await db.runAndReadAll(q)).getRowObjectsJson()));
`

// TestDuckDB: a table goes out of DuckDB, through pare fix --field, and back, with the SQL of examples/data.
func TestDuckDB(t *testing.T) {
	need(t, "node")
	root := os.Getenv("PARE_CLIENTS")
	if home, err := os.UserHomeDir(); root == "" && err == nil {
		root = filepath.Join(home, ".cache", "pare-clients")
	}
	dir := filepath.Join(root, "duckdb@1.5.6-r.1")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no DuckDB here: run scripts/client.sh duckdb@1.5.6-r.1")
	}
	work := t.TempDir()
	pare := build(t, "pare", nil, "go", "build", "-o", "OUT", "../cmd/pare")
	lines := `{"id":1,"sample":{"messages":[{"role":"user","content":"hi"}]},"score":0.50}
{"id":2,"sample":{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"so?"}]},"score":0.25}
`
	if err := os.WriteFile(filepath.Join(work, "traces.jsonl"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	sql, err := filepath.Abs("../examples/data")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", duckdb, "--", sql, pare, work)
	run.Dir = dir
	out, err := run.CombinedOutput()
	if want := `[{"rule":"orphan-call","n":"1"}]` + "\n" + `[{"n":"1"}]`; err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}
