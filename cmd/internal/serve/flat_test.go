package serve_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
)

// TestFlat: however many requests of all kinds there were, what is held in memory, the
// goroutines and the descriptors are those of a server that has seen some.
func TestFlat(t *testing.T) {
	// As many records as are remembered; those of requests that were changed are kept whole
	// until there is no room, which takes larger ones.
	sizes, rounds, most, lose := []int{1 << 10, 4 << 10, 22 << 10}, 1100, 4<<20, false
	if trial.Soak() {
		sizes, rounds, most, lose = []int{1 << 10, 22 << 10, 80 << 10, 226 << 10, 900 << 10, 3 << 20}, 4000, 32<<20, true
	}
	up := httptest.NewServer(&paretest.Mock{MaxTokens: 300_000})
	t.Cleanup(up.Close)
	u, err := proxy.ParseUpstream("anthropic=" + up.URL)
	if err != nil {
		t.Fatal(err)
	}
	at, _, _ := start(t, serve.Options{Upstreams: map[string]proxy.Upstream{"anthropic": u}})
	random := rand.New(rand.NewPCG(1, 2))
	// Live is what is left when nothing is under way.
	live := func() (heap, goroutines, descriptors int) {
		for range rounds {
			someone(t, random, at, sizes[random.IntN(len(sizes))], lose && random.IntN(4) == 0)
		}
		runtime.GC() // what pools hold takes two
		heap = inUse()
		fds, _ := os.ReadDir("/proc/self/fd")
		return heap, runtime.NumGoroutine(), len(fds)
	}
	heap, goroutines, descriptors := live()
	again, more, files := live()
	t.Logf("%d, then %d bytes, %d, then %d goroutines, %d, then %d descriptors", heap, again, goroutines, more, descriptors, files)
	if again > heap+most {
		t.Errorf("%d bytes are held, %d more than before", again, again-heap)
	}
	if more > goroutines+50 || files > descriptors+50 { // who was cut off may take a moment to end
		t.Errorf("%d goroutines and %d descriptors, not %d and %d", more, files, goroutines, descriptors)
	}
}

// someone sends a request of a conversation of its own, for a stream or for one reply, and may
// have lost the result of a call. Some go away in the middle.
func someone(t *testing.T, random *rand.Rand, at string, size int, lost bool) {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"claude-sonnet-4-5","max_tokens":100,"stream":%v,"tools":[{"name":"Read","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"Conversation %x"}`, random.IntN(2) == 0, random.Uint64())
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"Read","input":{}}]}`, i)
		if lost && i == 0 {
			b.WriteString(`,{"role":"user","content":"go on"}`)
		} else {
			fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}`, i, strings.Repeat("a line of words ", 30))
		}
	}
	b.WriteString("]}")
	c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text := fmt.Sprintf("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", b.Len(), b.String())
	switch random.IntN(10) {
	case 0:
		io.WriteString(c, text[:len(text)/2])
	case 1:
		io.WriteString(c, text)
		io.ReadFull(c, make([]byte, 50))
	default:
		io.WriteString(c, text)
		if reply, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 200 ") && size < 900<<10 {
			t.Fatalf("%.200q, %v", reply, err)
		}
	}
}
