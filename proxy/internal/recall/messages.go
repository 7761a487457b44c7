package recall

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"io"
)

// messages are the event stream of AWS: each event in a message with lengths, headers and
// checksums.
type messages struct {
	r *bufio.Reader
	// wrapped says that a message holds an event of another API, as base64.
	wrapped bool
}

func (m *messages) Read(r io.Reader) { m.r = bufio.NewReaderSize(r, 16<<10) }

const (
	prelude = 12 // two lengths and a checksum
	sum     = 4
)

func (m *messages) Next() (e Event, err error) {
	head, err := m.r.Peek(prelude)
	if err != nil {
		if len(head) > 0 {
			// It breaks off: the client is to see just that.
			e.Raw, _ = io.ReadAll(m.r)
			return e, nil
		}
		return e, err
	}
	size, headers := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	if size < prelude+headers+sum || size > maxEvent {
		return e, errLong
	}
	// As it comes: a length that lies costs nothing.
	if e.Raw, _ = io.ReadAll(io.LimitReader(m.r, int64(size))); len(e.Raw) < int(size) {
		return e, nil // an error comes again with the next one
	}
	named := headersOf(e.Raw[prelude : prelude+headers])
	payload := e.Raw[prelude+headers : size-sum]
	if named[":message-type"] != "event" {
		return e, nil
	}
	e.Name, e.Data = named[":event-type"], payload
	if m.wrapped && readable(payload) {
		if e.Data, err = base64.StdEncoding.DecodeString(text(payload, "bytes")); err != nil {
			e.Data = nil
		}
	}
	return e, nil
}

// headersOf reads the headers that are strings.
func headersOf(b []byte) map[string]string {
	all := make(map[string]string)
	for len(b) > 1 {
		n := int(b[0])
		if len(b) < n+4 || b[n+1] != stringHeader {
			return all
		}
		name, size := string(b[1:n+1]), int(binary.BigEndian.Uint16(b[n+2:]))
		if len(b) < n+4+size {
			return all
		}
		all[name] = string(b[n+4 : n+4+size])
		b = b[n+4+size:]
	}
	return all
}

const stringHeader = 7

func (m *messages) Append(dst []byte, e Event) []byte {
	if e.Raw != nil {
		return append(dst, e.Raw...)
	}
	payload := e.Data
	if m.wrapped {
		payload = object("bytes", base64.StdEncoding.EncodeToString(e.Data))
	}
	var head []byte
	for _, h := range [][2]string{{":event-type", e.Name}, {":content-type", "application/json"}, {":message-type", "event"}} {
		head = append(append(head, byte(len(h[0]))), h[0]...)
		head = binary.BigEndian.AppendUint16(append(head, stringHeader), uint16(len(h[1])))
		head = append(head, h[1]...)
	}
	from := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(prelude+len(head)+len(payload)+sum))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(head)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[from:]))
	dst = append(append(dst, head...), payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[from:]))
}
