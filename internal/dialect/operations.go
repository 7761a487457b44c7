package dialect

import (
	"bytes"
	"context"
	"iter"

	"github.com/pare-llm/pare/transcript"
)

func AppendHead(r *Request, dst []byte, result transcript.BlockID) []byte {
	return r.appendHead(dst, result)
}

func Batch(d Dialect, raw []byte) ([]Envelope, error) {
	return d.batch(raw)
}

func BindsThinking(p *Profile) bool {
	return p.bindsThinking()
}

func BlockTokens(r *Request, c Counter, b transcript.BlockID) int {
	return r.blockTokens(c, b)
}

func NewOverview(r *Request, o CheckOptions) Overview {
	return r.overview(o)
}

func Compaction(r *Request, b transcript.BlockID) string {
	return r.compaction(b)
}

func CompactionMessage(r *Request) []byte {
	return r.compactionMessage()
}

func ContextEdits(d Dialect) bool {
	return d.contextEdits()
}

// Delta returns the member that names the conversation on the server which r continues, or "" if r
// has its whole history.
func Delta(r *Request) string { return r.head.delta }

// StartsThread reports whether r asks the server to hold the conversation from here on.
func StartsThread(r *Request) bool { return r.head.startsThread }

// JoinConditions returns c with those of other where c knows none.
func JoinConditions(c, other Conditions) Conditions { return c.or(other) }

func Editable(r *Request, b transcript.BlockID) bool {
	return r.editable(b)
}

func EditsSince(r *Request, before *Request) []Edit {
	return r.editsSince(before)
}

func Explain(r *Request, before *Request, changes []Change) []Change {
	return r.explain(before, changes)
}

func Fingerprint(r *Request) [16]byte {
	return r.fingerprint()
}

func HeadTokens(r *Request, c Counter) int {
	return r.headTokens(c)
}

func InvalidThinking(r *Request, before *Request) []transcript.BlockID {
	return r.invalidThinking(before)
}

func MarksFailure(d Dialect) bool {
	return d.marksFailure()
}

func Media(r *Request) iter.Seq[transcript.Span] {
	return r.media()
}

func RepairRequest(r *Request, p Repair, o CheckOptions) (*RepairedRequest, error) {
	return r.repair(p, o)
}

func RepairFrom(ctx context.Context, r, before *Request, p Repair, o CheckOptions) (*RepairedRequest, error) {
	return r.repairSince(ctx, before, p, o)
}

func MessageIn(r *Request, before *Request, i int) int {
	return r.messageIn(before, i)
}

func MessagePathIn(r *Request, before *Request, i int) string {
	return r.messagePathIn(before, i)
}

func MessageTokens(r *Request, c Counter, i int) int {
	return r.tokensOfMessage(c, i)
}

func ModelInURL(d Dialect) bool {
	return d.modelInURL()
}

// Required is the member that a request of a dialect must have beside its history and its model; empty:
// there is none.
func Required(d Dialect) string { return grammars[d].required }

func NoMessage(r *Request, i int) string {
	return r.noMessage(i)
}

func PathIn(r *Request, before *Request, b transcript.BlockID) string {
	return r.pathWithin(before, b)
}

func PathsIn(r *Request, before *Request, b transcript.BlockID, room *Paths) []string {
	return r.pathsIn(before, b, room)
}

// PersonText returns the words of a person in a block: without reminders, quotations and other text that
// a client or Pare wrote. It is "" in messages of other roles than the user's, and for attachments.
func PersonText(r *Request, b transcript.BlockID) string {
	return r.personText(b)
}

// FromPerson reports whether a person wrote or attached a block: the message is one in which a person
// speaks, and the block is neither a result nor a mark of the client.
func FromPerson(r *Request, b transcript.BlockID) bool {
	return r.fromPerson(b)
}

func ReadTokens(r *Request, c Counter, i int) int {
	return r.readTokens(c, i)
}

func ResultIsCleared(r *Request, result transcript.BlockID) bool {
	return r.resultIsCleared(result)
}

func Rewrite(r *Request, drop []transcript.BlockID, edits []BlockEdit, insert ...Insertion) (*Request, []Change, error) {
	return r.rewrite(drop, edits, insert...)
}

func RewriteSince(r *Request, before *Request, drop []transcript.BlockID, edits []BlockEdit, insert ...Insertion) (*Request, []Change, error) {
	return r.rewriteSince(before, drop, edits, insert...)
}

// SameOutside reports whether the bytes before and after the list of messages are those of another
// request.
func SameOutside(r, other *Request) bool {
	return bytes.Equal(r.raw[:r.list.Start], other.raw[:other.list.Start]) && bytes.Equal(r.raw[r.list.End:], other.raw[other.list.End:])
}

func SaidTokens(r *Request, c Counter, b transcript.BlockID, text string) int {
	return r.saidTokens(c, b, text)
}

func TextMessage(d Dialect, role transcript.Role, text string) []byte {
	return d.textMessage(role, text)
}

func Unsigned(r *Request, rule string, messages int) (*Request, []Change, error) {
	return r.unsigned(rule, messages)
}
