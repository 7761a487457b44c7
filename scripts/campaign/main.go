// Command campaign shows what real agents make of the session files that pare repairs. Each
// client that is installed holds sessions against a stand-in for its API: plain, with parallel
// calls, killed, interrupted and resumed, compacted, overflowed, with a sub-agent, with another
// model. Each file is damaged in five ways; the client resumes the damaged file and the one that
// pare has repaired, and the stand-in keeps what it sends. After a repair the client must
// resume, its request must have no finding, and all that the undamaged session sends and the
// damaged file still holds must be in it.
//
//	scripts/client.sh                       # installs the clients
//	go build -o /some/pare ./cmd/pare
//	go run ./scripts/campaign [--only codex] [--sessions 8] --pare /some/pare
//
// The clients run without a network but for loopback, where there is a right to make such a
// place; with a home and a key of their own. The status is 1 if a repaired session fails.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const inside = "PARE_CAMPAIGN_INSIDE"

func main() {
	home, _ := os.UserHomeDir()
	clients := flag.String("clients", first(os.Getenv("PARE_CLIENTS"), filepath.Join(home, ".cache", "pare-clients")), "where scripts/client.sh has installed the clients")
	pare := flag.String("pare", "pare", "the program that repairs")
	only := flag.String("only", "", "clients whose name contains this")
	most := flag.Int("sessions", len(kinds), "how many kinds of sessions to hold")
	each := flag.Duration("each", 60*time.Second, "how long one run of a client may take")
	flag.Parse()
	if os.Getenv(inside) == "" && alone() {
		return
	}
	path, err := exec.LookPath(*pare)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		fail(err)
	}
	ran, failed := 0, 0
	for _, c := range known() {
		if !strings.Contains(c.name, *only) || !c.find(*clients) {
			continue
		}
		ran++
		k := &campaign{client: c, pare: path, each: *each}
		failed += k.run(kinds[:min(*most, len(kinds))])
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

// alone runs the program again where there is no network but for loopback. It returns false
// if nobody may make such a place.
func alone() bool {
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
	interrupted        // while the model speaks
)

// kinds are the sessions that are held.
var kinds = []struct {
	name  string
	steps []step
}{
	{"plain", []step{{order: "hello"}, {order: "run"}, {order: "thanks"}}},
	{"parallel calls", []step{{order: "read"}, {order: "thanks"}}},
	{"killed", []step{{order: "run"}, {order: "sleep", end: killed}}},
	{"interrupted, resumed", []step{{order: "run"}, {order: "slow", end: interrupted}, {order: "read"}}},
	{"compacted", []step{{order: "run"}, {order: "large"}, {order: "read"}, {order: "run"}}},
	{"overflowed", []step{{order: "run"}, {order: "overflow"}, {order: "read"}}},
	{"sub-agent", []step{{order: "agent"}, {order: "run"}}},
	{"another model", []step{{order: "run"}, {order: "read", other: true}}},
}

// A campaign is that of one client.
type campaign struct {
	*client
	pare string
	each time.Duration
}

// run holds the sessions, damages, repairs and resumes them, and prints a row for each. It
// returns how many repaired ones failed.
func (c *campaign) run(kinds []struct {
	name  string
	steps []step
}) (failed int) {
	fmt.Printf("\n## %s\n\n| session | damage | damaged: what it sends | repaired |\n| --- | --- | --- | --- |\n", c.name)
	good, all := 0, 0
	for _, kind := range kinds {
		held, err := c.hold(kind.steps)
		if err != nil {
			fmt.Printf("| %s | | not held: %s | |\n", kind.name, oneLine(err.Error()))
			continue
		}
		whole := c.resume(held, nil)
		fmt.Printf("| %s | none | %s | |\n", kind.name, whole.verdict(whole.marks))
		for _, d := range c.damages {
			if !d.hit(held.copyTo(c.place()), true) {
				continue
			}
			before := c.resume(held, func(dir string) { d.hit(dir, false) })
			said := ""
			after := c.resume(held, func(dir string) { d.hit(dir, false); said = c.repair(dir) })
			want := both(whole.marks, after.left)
			row, ok := after.verdict(want), after.clean(want)
			all++
			if ok {
				good++
			} else {
				failed++
				row = "**" + row + "** " + oneLine(said)
			}
			fmt.Printf("| %s | %s | %s | %s |\n", kind.name, d.name, before.verdict(both(whole.marks, before.left)), row)
			os.RemoveAll(before.dir)
			os.RemoveAll(after.dir)
		}
		os.RemoveAll(whole.dir)
		os.RemoveAll(held.dir)
	}
	fmt.Printf("\n%d of %d repaired sessions resume clean and complete.\n", good, all)
	return failed
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, "|", "/")), " ")
	return s[:min(len(s), 160)]
}
