package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// sliceScript is the shortest way to halve a history without a library. For each line of its
// input it parses, slices and stringifies the file once and prints the microseconds of
// processor time that it took.
const sliceScript = `const fs = require("fs");
const raw = fs.readFileSync(process.argv[2]);
const line = Buffer.alloc(1);
while (fs.readSync(0, line) === 1) {
  const before = process.cpuUsage();
  const body = JSON.parse(raw.toString("utf8"));
  const list = body.messages ? "messages" : "input";
  body[list] = body[list].slice(body[list].length >> 1);
  const out = Buffer.from(JSON.stringify(body), "utf8");
  const used = process.cpuUsage(before);
  if (out.length < 9) throw new Error("nothing left");
  fs.writeSync(1, (used.user + used.system) + "\n");
}
`

// nodeSlicer is a running Node process that slices one body on demand.
type nodeSlicer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startNodeSlicer starts Node in a folder that it may write to. The first rounds, in which
// Node still compiles, are not measured.
func startNodeSlicer(ctx context.Context, folder string, body []byte) (*nodeSlicer, error) {
	script := filepath.Join(folder, "slice.js")
	file := filepath.Join(folder, "body.json")
	if err := os.WriteFile(script, []byte(sliceScript), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, body, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "node", script, file)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start node: %w", err)
	}
	n := &nodeSlicer{cmd, in, bufio.NewReader(out)}
	for range 3 {
		if _, err := n.slice(); err != nil {
			n.stop()
			return nil, err
		}
	}
	return n, nil
}

// slice slices the body once and returns the processor time of the Node process.
func (n *nodeSlicer) slice() (time.Duration, error) {
	if _, err := io.WriteString(n.in, "\n"); err != nil {
		return 0, err
	}
	text, err := n.out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("read from node: %w", err)
	}
	micros, err := strconv.Atoi(strings.TrimSpace(text))
	return time.Duration(micros) * time.Microsecond, err
}

// stop ends the process.
func (n *nodeSlicer) stop() {
	n.in.Close()
	n.cmd.Wait()
}
