package store

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Arguments of PostgreSQL's statements, as they are sent: to find out for each value how it is
// to be written took longer than to write it.
type arguments struct {
	all [][]byte
	b   []byte // room for those that are not bytes already
}

// inBinary is the format of all of them, and of what is answered.
var inBinary = []int16{pgx.BinaryFormatCode}

const (
	int8OID  = pgtype.Int8OID
	int2OID  = pgtype.Int2OID
	textOID  = pgtype.TextOID
	byteaOID = pgtype.ByteaOID
)

func newArguments(n int) *arguments {
	return &arguments{all: make([][]byte, 0, n), b: make([]byte, 0, 8*n)}
}

// put adds one that was written behind b.
func (a *arguments) put(b []byte) {
	a.all = append(a.all, b[len(a.b):len(b):len(b)])
	a.b = b
}

func (a *arguments) number(n int64) { a.put(binary.BigEndian.AppendUint64(a.b, uint64(n))) }
func (a *arguments) short(n int)    { a.put(binary.BigEndian.AppendUint16(a.b, uint16(n))) }
func (a *arguments) text(s string)  { a.put(append(a.b, s...)) }

// bytes adds bytes; nil is NULL.
func (a *arguments) bytes(b []byte) { a.all = append(a.all, b) }

// entry adds the columns of an entry, in the order of entryTypes.
func (a *arguments) entry(x *Session, r *row) {
	a.number(pos(x.sid, r.Seq))
	a.text(r.ID)
	a.text(string(r.Kind))
	a.short(r.flags)
	a.number(r.weight)
	a.number(r.cum)
	a.number(int64(r.size))
	a.bytes(r.sum[:])
	a.short(r.codec)
	a.bytes(r.pairs())
	a.bytes(r.stored)
}

// list adds an array of a type, by how an element is written with its length in front.
func list[T any](a *arguments, oid uint32, all []T, write func([]byte, T) []byte) {
	b := a.b
	for _, n := range []uint32{1, 1, oid, uint32(len(all)), 1} { // dimensions, there may be NULLs, type, length, first
		b = binary.BigEndian.AppendUint32(b, n)
	}
	for _, v := range all {
		b = write(b, v)
	}
	a.put(b)
}

func appendNumber(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), uint64(n))
}

func appendShort(b []byte, n int) []byte {
	return binary.BigEndian.AppendUint16(append(b, 0, 0, 0, 2), uint16(n))
}

// appendBytes writes an element of bytes; nil is NULL.
func appendBytes(b, v []byte) []byte {
	if v == nil {
		return append(b, 0xff, 0xff, 0xff, 0xff)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
}
