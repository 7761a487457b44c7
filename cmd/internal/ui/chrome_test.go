package ui

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A browser is a Chromium that the tests drive over a pipe, by its own DevTools
// protocol: a message each way is a line of JSON that ends in a zero byte.
type browser struct {
	cmd  *exec.Cmd
	to   *os.File
	mu   sync.Mutex
	last int
	wait map[int]chan reply
	tabs map[string]*tab // by session
	gone chan struct{}   // closed when the pipe is
}

type reply struct {
	ID      int             `json:"id"`
	Method  string          `json:"method"`
	Session string          `json:"sessionId"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// browserName finds the browser, or "".
func browserName() string {
	for _, name := range []string{os.Getenv("PARE_BROWSER"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

// startBrowser starts a browser, once per test run if it can be helped: it takes a
// second.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	name := browserName()
	if name == "" {
		const why = "no Chromium found: run scripts/browser.sh, or set PARE_BROWSER"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip("SKIPPED, THE PAGES ARE NOT TESTED: " + why)
	}
	profile, err := os.MkdirTemp("", "pare-browser-")
	if err != nil {
		t.Fatal(err)
	}
	fromUs, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, fromIt, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{to: to, wait: map[int]chan reply{}, tabs: map[string]*tab{}, gone: make(chan struct{})}
	b.cmd = exec.Command(name, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions",
		"--disable-features=Translate,MediaRouter,OptimizationHints", "--force-color-profile=srgb", "--font-render-hinting=none", "--lang=en-US",
		"--hide-scrollbars",
		// A window that another one hides draws no frames, and whoever waits for one waits for
		// ever; nor may a busy machine be taken for one that hangs.
		"--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding", "--disable-background-timer-throttling",
		"--disable-hang-monitor", "--disable-gpu-watchdog", "--user-data-dir="+profile, "about:blank")
	b.cmd.ExtraFiles = []*os.File{fromUs, fromIt} // 3 and 4, as the browser wants them
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fromUs.Close()
	fromIt.Close()
	go b.read(from)
	t.Cleanup(func() {
		b.send("", "Browser.close", nil)
		select {
		case <-b.gone:
		case <-time.After(5 * time.Second): // it has nothing to lose
		}
		b.cmd.Process.Kill()
		b.cmd.Wait()
		to.Close()
		from.Close()
		os.RemoveAll(profile)
	})
	return b
}

func (b *browser) read(from *os.File) {
	defer close(b.gone)
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m reply
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if c, ok := b.wait[m.ID]; ok && m.ID > 0 {
			delete(b.wait, m.ID)
			c <- m
		}
		tab := b.tabs[m.Session]
		b.mu.Unlock()
		if m.Method != "" && tab != nil {
			tab.event(m)
		}
	}
}

func (b *browser) send(session, method string, params any) (chan reply, error) {
	if params == nil {
		params = struct{}{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	raw, err := json.Marshal(map[string]any{"id": b.last, "method": method, "params": params, "sessionId": session})
	if err != nil {
		return nil, err
	}
	if session == "" {
		raw, _ = json.Marshal(map[string]any{"id": b.last, "method": method, "params": params})
	}
	c := make(chan reply, 1)
	b.wait[b.last] = c
	_, err = b.to.Write(append(raw, 0))
	return c, err
}

func (b *browser) call(ctx context.Context, session, method string, params any, result any) error {
	c, err := b.send(session, method, params)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	case <-b.gone:
		return errors.New(method + ": the browser is gone")
	case m := <-c:
		if m.Error != nil {
			return errors.New(method + ": " + m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	}
}

// A tab is one page of a browser. What it complains about fails the test.
type tab struct {
	*testing.T
	b       *browser
	session string
	mu      sync.Mutex
	errors  []string // what the console said
}

// open opens an address in a tab of that size and waits until the page is ready.
func (b *browser) open(t *testing.T, url string, width, height int, scheme string) *tab {
	t.Helper()
	ctx := t.Context()
	// A context of its own: what a page remembers is gone with the tab.
	var own struct{ BrowserContextID string }
	if err := b.call(ctx, "", "Target.createBrowserContext", nil, &own); err != nil {
		t.Fatal(err)
	}
	var target struct{ TargetID string }
	if err := b.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": own.BrowserContextID}, &target); err != nil {
		t.Fatal(err)
	}
	var attached struct{ SessionID string }
	if err := b.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		t.Fatal(err)
	}
	p := &tab{T: t, b: b, session: attached.SessionID}
	b.mu.Lock()
	b.tabs[p.session] = p
	b.mu.Unlock()
	t.Cleanup(func() {
		p.quiet()
		b.call(context.Background(), "", "Target.disposeBrowserContext", map[string]any{"browserContextId": own.BrowserContextID}, nil)
	})
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.do(domain+".enable", nil, nil)
	}
	p.do("Page.bringToFront", nil, nil)
	p.do("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil) // it is in sight, whatever is in front
	p.do("Performance.enable", map[string]any{"timeDomain": "threadTicks"}, nil)
	p.size(width, height)
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"},
	}}, nil)
	p.do("Page.navigate", map[string]any{"url": url}, nil)
	p.until("document.documentElement?.dataset.ready > 0")
	return p
}

func (p *tab) size(width, height int) {
	p.Helper()
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

func (p *tab) do(method string, params, result any) {
	p.Helper()
	if err := p.b.call(context.Background(), p.session, method, params, result); err != nil {
		p.Fatal(err)
	}
}

func (p *tab) event(m reply) {
	var say string
	switch m.Method {
	case "Runtime.exceptionThrown":
		say = string(m.Params)
	case "Runtime.consoleAPICalled":
		var e struct{ Type string }
		if json.Unmarshal(m.Params, &e); e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			say = string(m.Params)
		}
	case "Log.entryAdded":
		var e struct {
			Entry struct{ Level, Text, Source string }
		}
		if json.Unmarshal(m.Params, &e); e.Entry.Level == "error" || e.Entry.Source == "security" {
			say = e.Entry.Source + ": " + e.Entry.Text
		}
	case "Network.requestWillBeSent":
		var e struct{ Request struct{ URL string } }
		json.Unmarshal(m.Params, &e)
		if u := e.Request.URL; !strings.HasPrefix(u, "file:") && !strings.HasPrefix(u, "http://127.0.0.1:") && !strings.HasPrefix(u, "about:") && !strings.HasPrefix(u, "data:image/") {
			say = "asks the network for " + u
		}
	}
	if say != "" {
		p.mu.Lock()
		p.errors = append(p.errors, say)
		p.mu.Unlock()
	}
}

// A measure is what a page has cost so far.
type measure struct {
	work  time.Duration // processor time of its main thread
	nodes int           // of its documents
}

func (p *tab) measured() (got measure) {
	p.Helper()
	var m struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	p.do("HeapProfiler.collectGarbage", nil, nil) // nodes that are gone count until then
	p.do("Performance.getMetrics", nil, &m)
	for _, v := range m.Metrics {
		switch v.Name {
		case "TaskDuration":
			got.work = time.Duration(v.Value * float64(time.Second))
		case "Nodes":
			got.nodes = int(v.Value)
		}
	}
	if got.work == 0 || got.nodes == 0 {
		p.Fatal("the browser does not tell what a page costs")
	}
	return got
}

// quiet wants that the console has nothing to complain about.
func (p *tab) quiet() {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.errors {
		p.Errorf("the console says: %s", e)
	}
	p.errors = nil
}

// eval runs an expression, waits for it if it is a promise, and reads its value.
func (p *tab) eval(expression string, value any) {
	p.Helper()
	var out struct {
		Result    struct{ Value json.RawMessage }
		Exception *struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	p.do("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &out)
	if out.Exception != nil {
		p.Fatalf("%s\n%s %s", expression, out.Exception.Text, out.Exception.Exception.Description)
	}
	if value == nil {
		return
	}
	if out.Result.Value == nil {
		p.Fatalf("%s: no value", expression)
	}
	if err := json.Unmarshal(out.Result.Value, value); err != nil {
		p.Fatalf("%s: %v in %s", expression, err, out.Result.Value)
	}
}

// text, number and is read one value.
func (p *tab) text(expression string) (s string) {
	p.Helper()
	p.eval("String("+expression+")", &s)
	return s
}

func (p *tab) number(expression string) (n float64) {
	p.Helper()
	p.eval("Number("+expression+")", &n)
	return n
}

func (p *tab) is(expression string) (ok bool) {
	p.Helper()
	p.eval("Boolean("+expression+")", &ok)
	return ok
}

// follow clicks on what leads to another page. It answers before it clicks: the page that is left may
// answer no more.
func (p *tab) follow(selector string) {
	p.Helper()
	p.eval("setTimeout(() => document.querySelector('"+selector+"').click())", nil)
}

// until waits for a condition, as long as the run of tests lasts. What it asks about may not be there yet,
// and the page may be on its way to another one.
func (p *tab) until(condition string) {
	p.Helper()
	now := map[string]any{"expression": "(() => { try { return Boolean(" + condition + ") } catch { return false } })()", "returnByValue": true}
	for {
		var out struct{ Result struct{ Value bool } }
		err := p.b.call(p.Context(), p.session, "Runtime.evaluate", now, &out)
		switch {
		case err == nil && out.Result.Value:
			return
		case err != nil && !strings.Contains(err.Error(), "navigated"):
			p.Fatal(err)
		}
		if end, ok := p.Deadline(); ok && time.Until(end) < 10*time.Second {
			p.quiet()
			p.Fatalf("waited in vain for %s", condition)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// settled waits until the page has drawn what is pending.
func (p *tab) settled() {
	p.Helper()
	p.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))", nil)
}

// press presses keys by their names, with shift for "S-".
func (p *tab) press(names ...string) {
	p.Helper()
	for _, name := range names {
		key, shift := strings.CutPrefix(name, "S-")
		e := map[string]any{"type": "keyDown", "key": key}
		if len(key) == 1 {
			e["text"] = key
		}
		switch key {
		case "Enter":
			e["text"], e["windowsVirtualKeyCode"] = "\r", 13
		case "Tab":
			e["windowsVirtualKeyCode"] = 9
		case "Escape":
			e["windowsVirtualKeyCode"] = 27
		case "ArrowDown":
			e["windowsVirtualKeyCode"] = 40
		case "ArrowUp":
			e["windowsVirtualKeyCode"] = 38
		case "ArrowRight":
			e["windowsVirtualKeyCode"] = 39
		}
		if shift {
			e["modifiers"] = 8
		}
		p.do("Input.dispatchKeyEvent", e, nil)
		p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
	}
	p.settled()
}

// click clicks into the middle of an element.
func (p *tab) click(selector string) {
	p.Helper()
	var at struct{ X, Y float64 }
	p.eval(fmt.Sprintf("(() => { const e = document.querySelector(%q); e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2} })()", selector), &at)
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		e := map[string]any{"type": kind, "x": at.X, "y": at.Y}
		if kind != "mouseMoved" {
			e["button"], e["clickCount"] = "left", 1
		}
		p.do("Input.dispatchMouseEvent", e, nil)
	}
	p.settled()
}

// screenshot is what can be seen, as a PNG.
func (p *tab) screenshot() []byte {
	p.Helper()
	var shot struct{ Data string }
	p.do("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	raw, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.Fatal(err)
	}
	return raw
}
