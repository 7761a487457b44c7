package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// proxyFloors are the floors next to a reverse proxy that reads every request before it
// forwards it, by the size of the request.
var proxyFloors = []struct {
	kilobytes int
	floor     float64
}{
	{1, 0.65},
	{22, 0.80},
}

// connections is the number of clients of a proxy. With a single one, the cost of waking an
// idle process hides most of the work.
const connections = 8

// measureProxy builds pare and tools/load and compares pare serve with the buffering proxy of
// tools/load.
func measureProxy(ctx context.Context, c config) ([]speed, error) {
	folder, err := os.MkdirTemp("", "pare-floors-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	programs := map[string]string{
		"pare": "github.com/pare-llm/pare/cmd/pare",
		"load": "github.com/pare-llm/pare/tools/load",
	}
	for name, pkg := range programs {
		build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(folder, name), pkg)
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return nil, fmt.Errorf("build %s: %w", pkg, err)
		}
	}
	var all []speed
	for _, f := range proxyFloors {
		times, err := loadProxies(ctx, c, folder, f.kilobytes)
		if err != nil {
			return nil, err
		}
		all = append(all, speed{
			work:  fmt.Sprintf("pare serve, %d KB", f.kilobytes),
			base:  "buffering reverse proxy",
			ratio: times["buffering"] / times["pare"],
			floor: f.floor,
		})
	}
	return all, nil
}

// loadProxies returns the processor time of a request by the name of the proxy.
func loadProxies(ctx context.Context, c config, folder string, kilobytes int) (map[string]float64, error) {
	load := exec.CommandContext(ctx, filepath.Join(folder, "load"), "-json", "-replies", "json",
		"-sizes", strconv.Itoa(kilobytes), "-conns", strconv.Itoa(connections), "-rounds", strconv.Itoa(c.rounds),
		filepath.Join(folder, "pare"))
	load.Stderr = os.Stderr
	out, err := load.Output()
	if err != nil {
		return nil, fmt.Errorf("run load: %w", err)
	}
	times := make(map[string]float64)
	for rows := json.NewDecoder(bytes.NewReader(out)); rows.More(); {
		var row struct {
			Proxy            string
			MicrosPerRequest float64
		}
		if err := rows.Decode(&row); err != nil {
			return nil, fmt.Errorf("read a row of load: %w", err)
		}
		times[row.Proxy] = row.MicrosPerRequest
	}
	if times["buffering"] == 0 || times["pare"] == 0 {
		return nil, fmt.Errorf("load measured %v, expected buffering and pare", times)
	}
	return times, nil
}
