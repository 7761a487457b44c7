package tokens

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
)

// chunk is the length, in characters, from which the bound of the estimate holds.
const chunk = 2000

// samples returns texts of chunk characters of each kind that the bound names. Code
// and markup come from the Go tree, the rest is made here; the weights were fitted mostly to other texts.
var samples = sync.OnceValue(func() map[string][]string {
	r := rand.New(rand.NewPCG(11, 12))
	m := map[string][]string{
		"Go":          files(r, []string{"src/net/http", "src/go/types", "src/cmd/compile/internal/ssagen", "src/text/template"}, ".go"),
		"prose":       chunks(r, sentences(r, english, 700)),
		"markdown":    files(r, []string{"doc", "src/runtime", "src/cmd/compile/abi-internal.md", "src/cmd/compile/README.md", "src/cmd/compile/internal/ssa", "src/math/big"}, ".md"),
		"JSON":        append(chunks(r, records(r, 300)), files(r, []string{"src/crypto/internal/fips140test", "src/crypto/hpke", "src/cmd/internal/test2json"}, ".json")...),
		"JavaScript":  files(r, []string{"lib/wasm", "src/cmd/vendor/github.com/google/pprof/internal/driver/html"}, ".js"),
		"minified JS": append(chunks(r, minified(r, 2500)), files(r, []string{"src/internal/trace/traceviewer/static"}, ".min.js")...),
		"TypeScript":  chunks(r, typescript(r, 500)),
		"Python":      append(chunks(r, python(r, 500)), files(r, []string{"src/runtime/runtime-gdb.py", "lib/hg"}, ".py")...),
		"assembly":    files(r, []string{"src/runtime", "src/crypto/internal/fips140/aes"}, ".s"),
		"logs":        chunks(r, logs(r, 1200)),
		"terminal":    chunks(r, terminal(r, 1500)),
		"hex":         chunks(r, hex.EncodeToString(noise(r, 30_000))),
		"base64":      chunks(r, base64.StdEncoding.EncodeToString(noise(r, 45_000))),
		"Chinese":     chunks(r, sentences(r, chinese, 2500)),
		"Japanese":    chunks(r, sentences(r, japanese, 2500)),
		"Russian":     chunks(r, sentences(r, russian, 1200)),
		"emoji":       chunks(r, emoji(r, 30_000)),
	}
	return m
})

// kinds are the names of the samples, in order.
func kinds() []string {
	var names []string
	for name := range samples() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

var goroot = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out))
})

func files(r *rand.Rand, dirs []string, suffix string) []string {
	var text bytes.Buffer
	for _, dir := range dirs {
		_ = filepath.WalkDir(filepath.Join(goroot(), filepath.FromSlash(dir)), func(path string, d os.DirEntry, err error) error {
			if err != nil || text.Len() > 600_000 {
				return filepath.SkipAll
			}
			if !strings.HasSuffix(path, suffix) {
				return nil
			}
			b, err := os.ReadFile(path)
			text.Write(b[:min(len(b), 20_000)])
			return err
		})
	}
	return chunks(r, text.String())
}

// chunks cuts a text into pieces and returns forty of them, by chance.
func chunks(r *rand.Rand, text string) []string {
	runes := []rune(text)
	var all []string
	for i := 0; i+chunk <= len(runes); i += chunk {
		all = append(all, string(runes[i:i+chunk]))
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), 40)]
}

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// sentences strings phrases together: each line of from is a set of alternatives.
func sentences(r *rand.Rand, from [][]string, n int) string {
	var b strings.Builder
	for range n {
		for _, part := range from {
			b.WriteString(pick(r, part...))
		}
		if r.IntN(6) == 0 {
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

var english = [][]string{
	{"The committee", "Every engineer on the team", "A careful reader", "Her grandfather", "The newest release", "Nobody in the village", "What the auditors"},
	{" had already noticed that", " seems to believe", " would rather not admit how", " described, in some detail, why", " cannot explain whether"},
	{" the bridge across the river", " a twelve-year-old mortgage", " the orchestra's second rehearsal", " an unusually quiet server room", " the history of copper mining"},
	{" had been closed since Tuesday", " would outlast its makers", " depends on weather and goodwill", " was mostly a matter of patience", " costs three times as much in winter"},
	{", which is why the meeting ran late. ", "; still, the results were encouraging. ", ". ", "? ", ", or so the newspaper claimed. ", " (see chapter four). "},
}

var chinese = [][]string{
	{"这个系统", "昨天晚上", "经过反复测试", "根据最新的统计数据", "在实际使用过程中", "由于网络连接不稳定", "老师告诉我们"},
	{"我们发现", "用户可以", "开发团队决定", "很多人都", "程序会自动", "必须先"},
	{"修改配置文件", "检查数据库的状态", "重新启动服务器", "提高处理速度", "保存所有的聊天记录", "欣赏秋天的红叶", "学习古代诗词"},
	{"，以便", "，但是仍然", "，同时", "，因此", "，而且"},
	{"减少错误的发生", "需要更多的时间", "降低运行成本", "得到满意的结果", "影响整个项目的进度", "回忆起童年的故乡"},
	{"。", "。", "！", "？", "；", "。\n"},
}

var japanese = [][]string{
	{"このシステムは", "昨日の会議では", "新しいバージョンでは", "利用者が増えたため", "祖母の家の近くで", "テストの結果、"},
	{"データベースの接続を", "設定ファイルの内容を", "古い写真を何枚か", "エラーメッセージの原因を", "サーバーの負荷を"},
	{"確認する必要があります", "詳しく調べることにしました", "自動的に更新します", "見つけることができませんでした", "丁寧に説明してくれました"},
	{"。", "が、時間がかかります。", "ので、注意してください。", "と思います。", "。\n", "か？"},
}

var russian = [][]string{
	{"Новая версия программы", "Вчера вечером мой сосед", "Большинство пользователей", "После долгого обсуждения комитет", "Каждый разработчик", "Старый маяк на берегу"},
	{" неожиданно", " всё ещё", " довольно часто", " без всяких объяснений", " по просьбе заказчика"},
	{" изменяет настройки соединения", " вспоминает прошлогоднее путешествие", " проверяет целостность данных", " требует дополнительного времени", " откладывает решение этого вопроса"},
	{", потому что сервер не отвечает. ", ", хотя ошибка давно исправлена. ", ". ", ", и это никого не удивляет. ", "! ", "?\n"},
}

func emoji(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteRune(rune(0x1F600 + r.IntN(0x45)))
		b.WriteString(pick(r, "", "", "", "🚀", "👍🏽", "✅ ", "❤️", " ok ", "👩‍💻"))
	}
	return b.String()
}

func ident(r *rand.Rand) string {
	s := pick(r, "user", "session", "request", "parse", "cache", "render", "token", "index", "node", "config", "handle", "fetch")
	for range r.IntN(3) {
		s += pick(r, "Id", "Map", "Error", "State", "Count", "Async", "Ref", "Url", "List", "Key")
	}
	return s
}

func snake(r *rand.Rand) string {
	s := ident(r)
	var b strings.Builder
	for _, c := range s {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.ToLower(b.String())
}

func typescript(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		a, c, d := ident(r), ident(r), ident(r)
		fmt.Fprintf(&b, "export interface %sProps<T extends Record<string, unknown>> {\n  readonly %s?: T[keyof T];\n  on%s: (event: %sEvent, %s: number) => Promise<void>;\n}\n\n", a, c, d, a, d)
		fmt.Fprintf(&b, "export const %s = async ({ %s, %s }: %sProps): Promise<string | undefined> => {\n  if (!%s || %s.length === 0) {\n    throw new %sError(`missing ${%s} in ${JSON.stringify(%s)}`);\n  }\n  const { data } = await this.%s.get(%s?.id ?? %d);\n  return data.map((x) => x.%s).filter(Boolean).join(', ');\n};\n\n", a, c, d, a, c, c, a, c, d, ident(r), d, r.IntN(500), c)
	}
	return b.String()
}

func python(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		a, c, d := snake(r), snake(r), snake(r)
		fmt.Fprintf(&b, "def %s(self, %s: dict[str, Any], *, %s=None) -> list[int]:\n    \"\"\"Return the %s of every %s, oldest first.\"\"\"\n    if %s is None:\n        %s = self._%s.get(\"%s\", %d)\n    for i, (k, v) in enumerate(sorted(%s.items())):\n        try:\n            result[k] += v ** %d // len(%s)\n        except (KeyError, ZeroDivisionError) as exc:\n            logger.warning(\"skipped %%s: %%r\", k, exc)\n    return [x for x in result.values() if x is not None]\n\n\n", a, c, d, a, c, d, d, c, d, r.IntN(99), c, r.IntN(9), d)
	}
	return b.String()
}

func minified(r *rand.Rand, n int) string {
	v := func() string { return string(rune('a'+r.IntN(26))) + pick(r, "", "", string(rune('a'+r.IntN(26)))) }
	var b strings.Builder
	for range n {
		switch r.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "function %s(%s,%s){return %s.%s(%s)?%s[%d]:void 0}", v(), v(), v(), v(), ident(r), v(), v(), r.IntN(9))
		case 1:
			fmt.Fprintf(&b, "var %s=%s(%d),%s=!%d,%s=function(){%s.%s=null};", v(), v(), r.IntN(1000), v(), r.IntN(2), v(), v(), ident(r))
		case 2:
			fmt.Fprintf(&b, "%s&&(%s=%s||{}),%s.exports={%s:%s,%s:\"%s\"},", v(), v(), v(), v(), ident(r), v(), ident(r), ident(r))
		default:
			fmt.Fprintf(&b, "for(let %s=0;%s<%s.length;%s++)%s.push(%s[%s]>>>%d&255);", v(), v(), v(), v(), v(), v(), v(), r.IntN(24))
		}
	}
	return b.String()
}

func records(r *rand.Rand, n int) string {
	type address struct {
		Street, City string
		Zip          int
	}
	type record struct {
		ID      string   `json:"id"`
		Name    string   `json:"name"`
		Active  bool     `json:"is_active"`
		Score   float64  `json:"score"`
		Tags    []string `json:"tags"`
		Address *address `json:"address"`
		Created string   `json:"created_at"`
	}
	var b strings.Builder
	for range n {
		x := record{hex.EncodeToString(noise(r, 8)), pick(r, "Ada", "Bela", "Chidi") + " " + pick(r, "Okafor", "Nagy", "Lindqvist"), r.IntN(2) == 0, float64(r.IntN(10_000)) / 100, []string{ident(r), snake(r)}, nil, fmt.Sprintf("2026-%02d-%02dT%02d:00:00Z", 1+r.IntN(12), 1+r.IntN(28), r.IntN(24))}
		if r.IntN(2) == 0 {
			x.Address = &address{fmt.Sprintf("%d Harbour Road", r.IntN(300)), pick(r, "Oslo", "Lagos", "Quito"), r.IntN(99_999)}
		}
		raw, _ := json.MarshalIndent(x, "", pick(r, "", "  "))
		b.Write(raw)
		b.WriteString(",\n")
	}
	return b.String()
}

func logs(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&b, "2026-%02d-%02d %02d:%02d:%02d,%03d %-5s [%s-%d] c.a.%s.%s - %s in %d ms\n", 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000), pick(r, "INFO", "WARN", "ERROR"), pick(r, "pool", "http-nio"), r.IntN(20), ident(r), ident(r), pick(r, "connection reset by peer", "query finished", "retry scheduled"), r.IntN(9000))
		case 1:
			fmt.Fprintf(&b, "%d.%d.%d.%d - - [%02d/Nov/2026:%02d:%02d:%02d +0000] \"GET /api/v%d/%s/%d?page=%d HTTP/1.1\" %s %d \"-\" \"curl/8.5.0\"\n", r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), 1+r.IntN(3), snake(r), r.IntN(100_000), r.IntN(20), pick(r, "200", "404", "502"), r.IntN(90_000))
		default:
			fmt.Fprintf(&b, "{\"level\":%q,\"ts\":%d.%06d,\"msg\":%q,\"trace\":\"%x\",\"%s\":%d}\n", pick(r, "info", "error"), 1_790_000_000+r.IntN(9_999_999), r.IntN(1_000_000), pick(r, "request handled", "cache miss"), noise(r, 8), snake(r), r.IntN(5000))
		}
	}
	return b.String()
}

func terminal(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		switch r.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "\x1b[%dm%s\x1b[0m %s/%s.test.ts (%d ms)\n", 31+r.IntN(6), pick(r, "PASS", "FAIL", "✓", "✗"), snake(r), ident(r), r.IntN(900))
		case 1:
			fmt.Fprintf(&b, "-rw-r--r--  1 dev staff %7d Nov %2d %02d:%02d %s.go\n", r.IntN(1_000_000), 1+r.IntN(28), r.IntN(24), r.IntN(60), snake(r))
		case 2:
			fmt.Fprintf(&b, "│   ├── %s\n│   │   └── %s.d.ts\n", snake(r), ident(r))
		default:
			fmt.Fprintf(&b, "src/%s.go:%d:%d: undefined: %s\n", snake(r), r.IntN(900), r.IntN(80), ident(r))
		}
	}
	return b.String()
}

// transcripts returns what agents said and read in the recorded sessions.
func transcripts(t testing.TB) []string {
	t.Helper()
	var all []string
	r := rand.New(rand.NewPCG(13, 14))
	for _, f := range corpus.Files(t, "*/*.json*") {
		var b strings.Builder
		for line := range bytes.Lines(f.Raw) {
			var v any
			if json.Unmarshal(line, &v) == nil {
				words(v, &b)
			}
			if b.Len() >= 1<<20 {
				break
			}
		}
		all = append(all, chunks(r, b.String())...)
	}
	return all
}

// words collects the longer strings of a JSON value, pictures aside.
func words(v any, b *strings.Builder) {
	switch v := v.(type) {
	case string:
		if len(v) > 100 && strings.ContainsAny(v[:100], " \n") {
			b.WriteString(v + "\n")
		}
	case []any:
		for _, x := range v {
			words(x, b)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			words(v[key], b)
		}
	}
}
