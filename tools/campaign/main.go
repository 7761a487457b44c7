// Command campaign shows how real agents resume session files that pare repaired. Each
// installed client holds sessions against a stand-in for its API: plain, with parallel calls,
// killed, interrupted and resumed, compacted, overflowed, with a sub-agent, with another
// model, killed and resumed, with sequential calls, with a call that fails, with an image.
// Each file is damaged in many ways. The client resumes the damaged file and the repaired one,
// and the stand-in records the requests. After a repair the client must resume, and its
// request must have no finding and contain everything that the undamaged session sends and the
// damaged file still has.
//
//	scripts/client.sh                       # installs the clients
//	go build -o /some/pare ./cmd/pare
//	go run ./tools/campaign [--doctor | --run] [--only Codex] [--session killed] [--damage head] --pare /some/pare
//
// With --run, the client continues some of these sessions, and one that exceeds the model's
// window, by itself and under pare run, where its requests must be clean and fit. Pare is
// killed in the middle, and the client is started again with it and without it.
//
// With --doctor, pare doctor predicts the outcome for some of these sessions, and for the same
// with results that exceed the window, before the client resumes them. The predictions must
// come true, and after pare trim and pare compact the client must send a clean request that
// fits.
//
// The clients run without a network except loopback, if the system permits, and with their own
// home and key. The status is 1 if a repaired session fails.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const inside = "PARE_CAMPAIGN_INSIDE"

func main() {
	home, _ := os.UserHomeDir()
	clients := flag.String("clients", first(os.Getenv("PARE_CLIENTS"), filepath.Join(home, ".cache", "pare-clients")), "where scripts/client.sh has installed the clients")
	pare := flag.String("pare", "pare", "the program that repairs")
	only := flag.String("only", "", "clients whose name contains this")
	session := flag.String("session", "", "sessions whose kind contains this, or one of these, parted by ;")
	harm := flag.String("damage", "", "damages whose name contains this, or one of these, parted by ;")
	keep := flag.String("keep", "", "a folder that gets the homes and requests of sessions that fail; all with --all")
	everything := flag.Bool("all", false, "with --keep: also of those that do not fail")
	doctor := flag.Bool("doctor", false, "ask pare doctor what will happen to damaged and full sessions, and compare with what the clients do")
	run := flag.Bool("run", false, "let clients go on with damaged and full sessions by themselves and under pare run, and kill that")
	recorded := flag.String("record", "", "a folder that gets records: damaged sessions, and the outcome of resuming each")
	pack := flag.String("pack", "", "no run: write the records below a folder into one file per client")
	positions := flag.Int("positions", 2, "with --record: how many lines each damage is done to")
	each := flag.Duration("each", 5*time.Minute, "how long one run of a client may take")
	flag.Parse()
	if *pack != "" {
		if err := packRecords(*pack); err != nil {
			fail(err)
		}
		return
	}
	if os.Getenv(inside) == "" && isolate() {
		return
	}
	path, err := exec.LookPath(*pare)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		fail(err)
	}
	chosen := named(kinds, *session)
	ran, failed := 0, 0
	all := allClients()
	if *run {
		all = append(all, kilo())
	}
	for _, c := range all {
		if !strings.Contains(c.name, *only) || !c.find(*clients) {
			continue
		}
		c.damages = slices.DeleteFunc(c.damages, func(d damage) bool {
			return !slices.ContainsFunc(strings.Split(*harm, ";"), func(h string) bool { return strings.Contains(d.name, h) })
		})
		ran++
		if *run {
			c = c.forPareRun()
		}
		k := &campaign{client: c, pare: path, each: *each, keep: *keep, all: *everything, seen: map[string]*resumption{}}
		if *recorded != "" {
			if err := k.recordOutcomes(named(recordedKinds, *session), *recorded, *positions, *harm); err != nil {
				fail(err)
			}
			continue
		}
		if *doctor {
			failed += k.askDoctor(chosen, *session, *harm)
			continue
		}
		rows := k.rows(*run, chosen, *session, *harm)
		fmt.Printf("\n%s\n%s\n", table(rows), sum(rows))
		for _, r := range rows {
			if r.failed() {
				failed++
			}
		}
	}
	switch {
	case ran == 0:
		fail(fmt.Errorf("no client is installed in %s: run scripts/client.sh", *clients))
	case failed > 0:
		fail(fmt.Errorf("%d repaired sessions failed", failed))
	}
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "campaign:", err)
	os.Exit(1)
}

// isolate runs the program again in a network namespace with loopback only. It returns false if
// the system does not permit that.
func isolate() bool {
	if exec.Command("unshare", "-n", "true").Run() != nil {
		fmt.Fprintln(os.Stderr, "campaign: no right to a network of its own: only environment variables keep clients from looking outside")
		return false
	}
	self, err := os.Executable()
	if err != nil {
		fail(err)
	}
	cmd := exec.Command("unshare", append([]string{"-n", "sh", "-c", `ip link set lo up && exec "$0" "$@"`, self}, os.Args[1:]...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"=1")
	if err := cmd.Run(); err != nil {
		os.Exit(1)
	}
	return true
}

// A step is one run of a client: a prompt, and how the run ends.
type step struct {
	order string
	end   ending
	other bool // another model
}

type ending int

const (
	ends        ending = iota
	killed             // while a tool runs
	interrupted        // killed while the model replies
	bereft             // Pare is killed while the model replies
)

// A kind is a session that is held.
type kind struct {
	name  string
	steps []step
	fill  filling // the texts that are made longer
}

// kinds are the sessions that are held.
var kinds = []kind{
	{name: "plain", steps: []step{{order: "hello"}, {order: "run"}, {order: "thanks"}}},
	{name: "parallel calls", steps: []step{{order: "read"}, {order: "thanks"}}},
	{name: "killed", steps: []step{{order: "run"}, {order: "sleep", end: killed}}},
	{name: "interrupted, resumed", steps: []step{{order: "run"}, {order: "slow", end: interrupted}, {order: "read"}}},
	{name: "compacted", steps: []step{{order: "run"}, {order: "large"}, {order: "read"}, {order: "run"}}},
	{name: "overflowed", steps: []step{{order: "run"}, {order: "overflow"}, {order: "read"}}},
	{name: "sub-agent", steps: []step{{order: "agent"}, {order: "run"}}},
	{name: "another model", steps: []step{{order: "run"}, {order: "read", other: true}}},
	{name: "killed, resumed", steps: []step{{order: "run"}, {order: "sleep", end: killed}, {order: "read"}}},
	{name: "calls in a row", steps: []step{{order: "chain"}, {order: "thanks"}}},
	{name: "failed call", steps: []step{{order: "run"}, {order: "miss"}, {order: "thanks"}}},
	{name: "image", steps: []step{{order: "look"}, {order: "run"}}},
}

// named returns the kinds whose name contains one of some words, parted by semicolons.
func named(all []kind, words string) []kind {
	return slices.DeleteFunc(slices.Clone(all), func(k kind) bool {
		return !slices.ContainsFunc(strings.Split(words, ";"), func(s string) bool { return strings.Contains(k.name, s) })
	})
}

// none is the damage of a healthy session.
const none = "none"

// A campaign is that of one client.
type campaign struct {
	*client
	pare string
	each time.Duration
	keep string // where sessions are kept; "": nowhere
	all  bool   // those that do not fail too

	seen map[string]*resumption // by kind of session

	window int // window in tokens for a stand-in that counts; 0: it reports fixed counts

	through bool   // the client is started by pare run
	url     string // address of the stand-in of the last run
}

// run holds the sessions, damages, repairs and resumes them, and prints a row for each.
func (c *campaign) run(kinds []kind) (rows []row) {
	fmt.Printf("\n## %s\n\n", c.name)
	add := func(r row) {
		fmt.Print(r)
		rows = append(rows, r)
	}
	for _, k := range kinds {
		if k.name == "sub-agent" && c.agent == nil {
			continue // it has none
		}
		held, err := c.hold(k)
		if err != nil {
			fmt.Fprintf(os.Stderr, "campaign: %s: not held: %s\n", k.name, oneLine(err.Error()))
			add(row{session: k.name, damage: none, before: "not held", after: "not held"})
			c.keepFolder(held.dir, k.name, "not held", true)
			continue
		}
		whole := c.resume(held, nil)
		for _, d := range append([]damage{{name: none}}, c.damages...) {
			hit := func(dir string) bool { return d.hit == nil || d.hit(c, dir) }
			before := whole
			if d.hit != nil {
				if before = c.resume(held, hit); before == nil {
					add(row{session: k.name, damage: d.name})
					continue
				}
			}
			said, changed := "", false
			after := c.resume(held, func(dir string) bool {
				hit(dir)
				said, changed = c.repair(dir)
				return changed
			})
			if !changed { // the client would do the same once more
				after = before
			}
			want := newExpectation(whole, before)
			r := row{session: k.name, damage: d.name, before: before.verdict(want), after: after.verdict(want)}
			if r.failed() {
				fmt.Fprintf(os.Stderr, "campaign: %s, %s: %s\n", k.name, d.name, oneLine(said+" "+after.out))
			}
			add(r)
			c.keepFolder(after.dir, k.name, d.name+", repaired", r.failed())
			if changed {
				c.keepFolder(before.dir, k.name, d.name+", damaged", r.failed())
			}
		}
		c.keepFolder(held.dir, k.name, "held", false)
	}
	return rows
}

// keepFolder keeps the folder of a session if the flags ask for it, and removes it otherwise.
func (c *campaign) keepFolder(dir, session, what string, failed bool) {
	if _, err := os.Stat(dir); err == nil && c.keep != "" && (c.all || failed) {
		to := filepath.Join(c.keep, c.folder, session, what)
		if os.MkdirAll(filepath.Dir(to), 0o755) == nil && os.RemoveAll(to) == nil && exec.Command("cp", "-a", dir, to).Run() != nil {
			fmt.Fprintln(os.Stderr, "campaign: cannot keep", to)
		}
	}
	if dir != "" {
		os.RemoveAll(dir)
	}
}

// colours matches color sequences of a terminal.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

func oneLine(s string) string {
	s = colours.ReplaceAllString(s, "")
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, "|", "/")), " ")
	return s[:min(len(s), 160)]
}
