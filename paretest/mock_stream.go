package paretest

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"net/http"

	"github.com/pare-llm/pare/internal/jsontree"
)

// events is where an answer is streamed to: each event is sent at once.
type events interface {
	// send sends an event that has a name; "" if the API names none.
	send(name string, data *jsontree.Node)
}

// newEvents begins a stream of server-sent events.
func newEvents(w http.ResponseWriter, kind string) *serverEvents {
	return &serverEvents{begin(w, kind)}
}

// A flow is an answer that goes out piece by piece.
type flow struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func begin(w http.ResponseWriter, kind string) flow {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	return flow{w, http.NewResponseController(w)}
}

// put sends bytes at once. A client that has gone away is no concern of the model's.
func (f flow) put(data []byte) {
	f.w.Write(data)
	f.c.Flush()
}

// serverEvents are an answer as text/event-stream.
type serverEvents struct{ flow }

func (e *serverEvents) send(name string, data *jsontree.Node) {
	var line []byte
	if name != "" {
		line = append(line, "event: "+name+"\n"...)
	}
	line = append(line, "data: "...)
	line = data.Write(line, jsontree.Spelling{}, 0)
	e.put(append(line, "\n\n"...))
}

// end sends the line that ends the streams of OpenAI and of Gemini's interactions.
func (e *serverEvents) end(line string) { e.put([]byte(line + "\n\n")) }

// arrayEvents are an answer as a JSON array, element by element.
type arrayEvents struct {
	flow
	open bool
}

func (e *arrayEvents) send(_ string, data *jsontree.Node) {
	lead := byte('[')
	if e.open {
		lead = ','
	}
	e.open = true
	e.put(append(data.Write([]byte{lead}, jsontree.Spelling{}, 0), '\n'))
}

// frameEvents are an answer as application/vnd.amazon.eventstream.
type frameEvents struct{ flow }

func (e *frameEvents) send(name string, data *jsontree.Node) {
	e.put(frame([][2]string{{":event-type", name}, {":content-type", "application/json"}, {":message-type", "event"}}, data.Write(nil, jsontree.Spelling{}, 0)))
}

// chunkEvents are the events of another API, each in a frame that has it as base64.
type chunkEvents struct{ frameEvents }

func (e *chunkEvents) send(_ string, data *jsontree.Node) {
	e.frameEvents.send("chunk", jsontree.Object("bytes", jsontree.Text(base64.StdEncoding.EncodeToString(data.Write(nil, jsontree.Spelling{}, 0)))))
}

// frame writes one message of an event stream: lengths and their checksum, headers,
// payload, and the checksum of it all.
func frame(headers [][2]string, payload []byte) []byte {
	var head []byte
	for _, h := range headers {
		head = append(head, byte(len(h[0])))
		head = append(head, h[0]...)
		head = append(head, 7) // a string
		head = binary.BigEndian.AppendUint16(head, uint16(len(h[1])))
		head = append(head, h[1]...)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(16+len(head)+len(payload)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(head)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, head...), payload...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}
