//go:build unix

package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestRunPassesSignalsOn(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		cmd := exec.Command(programPath(t), "run", "--", "agent", "wait")
		cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal, only the test sends signals
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != int(s) {
			t.Errorf("%v: status %d, want %d", s, got, int(s))
		}
		if base := strings.Fields(line)[1]; !isDeadAddress(base) {
			t.Errorf("%v: somebody still listens at %s", s, base)
		}
	}
}

func TestRunWorksAfterAKill(t *testing.T) {
	cmd := exec.Command(programPath(t), "run", "--", "agent", "wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the agent
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	cmd.Wait()
	if got, err := exec.Command(programPath(t), "run", "--", "agent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
}

// TestRunStopsWithItsAgent stops an agent; Pare must stop, too, and both must continue together.
func TestRunStopsWithItsAgent(t *testing.T) {
	cmd := exec.Command(programPath(t), "run", "--", "sh", "-c", "kill -STOP $$; exit 5")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("pare did not stop: %v, %v", status, err)
	}
	if err := syscall.Kill(cmd.Process.Pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 5 {
		t.Errorf("status %d, want 5", got)
	}
}

func TestRunGivesTheTerminalToTheAgent(t *testing.T) {
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("no script(1) to make a terminal with: install util-linux (bsdutils)")
	}
	cmd := exec.Command(script, "-qec", programPath(t)+` run -- sh -c 'test -t 0 && test -t 1 && stty -a </dev/tty >/dev/null && read word && echo "got $word"'`, os.DevNull)
	cmd.Stdin = strings.NewReader("hello\n")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "got hello") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestRunLeavesTerminalToAgent(t *testing.T) {
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("no script(1) to make a terminal with: install util-linux (bsdutils)")
	}
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/v1/interrupted" {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler) // a connection that ends without a reply
	}))
	defer up.Close()
	const agent = `echo agent starts
curl -s -m 0.3 -H 'X-Api-Key: k' -d '{"messages":[]}' $ANTHROPIC_BASE_URL/v1/interrupted
curl -s -H 'X-Api-Key: k' -d '{"messages":[]}' $ANTHROPIC_BASE_URL/v1/messages; echo; sleep 0.2
echo agent ends`
	cmd := exec.Command(script, "-qec", programPath(t)+` run --upstream anthropic=`+up.URL+` -- sh -c "$AGENT"`, os.DevNull)
	cmd.Env = append(os.Environ(), "AGENT="+agent, "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, during, _ := strings.Cut(string(out), "agent starts")
	during, after, ended := strings.Cut(during, "agent ends")
	reply := strings.TrimSpace(during)
	if !ended || strings.Contains(reply, "\n") || !strings.HasPrefix(reply, `{"error":`) {
		t.Errorf("while the agent ran the terminal showed\n%s", during)
	}
	if !strings.Contains(after, "level=WARN") || !strings.Contains(after, "1 without a reply") && !strings.Contains(after, "2 without a reply") {
		t.Errorf("after the exit the terminal does not report the failure:\n%s", after)
	}
	if strings.Contains(string(out), "the client went away") {
		t.Errorf("the interrupt is a warning:\n%s", out)
	}
}
