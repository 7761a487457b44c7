package wire

import (
	"bytes"
	"context"
	"iter"

	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/transcript"
)

// Internal opens what the packages of this module use of each other and users do not see:
// nobody else can import the key.
func Internal(*inside.Key) internals { return internals{} }

// internals has the functions and methods behind the door. Each does what its namesake in
// lower case says.
type internals struct{}

func (internals) AppendHead(r *Request, dst []byte, result transcript.BlockID) []byte {
	return r.appendHead(dst, result)
}

func (internals) Batch(d Dialect, raw []byte) ([]Envelope, error) {
	return d.batch(raw)
}

func (internals) BatchURL(address string) (Dialect, string) {
	return batchURL(address)
}

func (internals) BindsThinking(p *Profile) bool {
	return p.bindsThinking()
}

func (internals) BlockTokens(r *Request, c Counter, b transcript.BlockID) int {
	return r.blockTokens(c, b)
}

func (internals) Canonical(value []byte) []byte {
	return canonical(value)
}

func (internals) Glance(r *Request, o CheckOptions) Glance {
	return r.glance(o)
}

func (internals) Compaction(r *Request, b transcript.BlockID) string {
	return r.compaction(b)
}

func (internals) CompactionMessage(r *Request) []byte {
	return r.compactionMessage()
}

func (internals) ContextEdits(d Dialect) bool {
	return d.contextEdits()
}

// Delta returns the member that names the conversation on the server which r continues, or "" if r
// has its whole history.
func (internals) Delta(r *Request) string { return r.head.delta }

// StartsThread reports whether r asks the server to hold the conversation from here on.
func (internals) StartsThread(r *Request) bool { return r.head.startsThread }

// JoinConditions returns c with those of other where c knows none.
func (internals) JoinConditions(c, other Conditions) Conditions { return c.or(other) }

func (internals) ReadConditions(address string, header map[string][]string) Conditions {
	return readConditions(address, header)
}

func (internals) DetectElement(element []byte) Dialect {
	return detectElement(element)
}

func (internals) DetectInvokeModel(raw []byte) Dialect {
	return detectInvokeModel(raw)
}

func (internals) Editable(r *Request, b transcript.BlockID) bool {
	return r.editable(b)
}

func (internals) EditsSince(r *Request, before *Request) []Edit {
	return r.editsSince(before)
}

func (internals) Explain(r *Request, before *Request, changes []Change) []Change {
	return r.explain(before, changes)
}

func (internals) Find(name string) []Rule {
	return find(name)
}

func (internals) Fingerprint(r *Request) [16]byte {
	return r.fingerprint()
}

func (internals) FrameTokens(c Counter) int {
	return frameTokens(c)
}

func (internals) HeadTokens(r *Request, c Counter) int {
	return r.headTokens(c)
}

func (internals) InvalidThinking(r *Request, before *Request) []transcript.BlockID {
	return r.invalidThinking(before)
}

func (internals) IsCleared(text []byte) bool {
	return isCleared(text)
}

func (internals) IsHistoryKey(name []byte) bool {
	return isHistoryKey(name)
}

func (internals) IsRequest(raw []byte) bool {
	return isRequest(raw)
}

func (internals) IsSynthetic(text string) bool {
	return isSynthetic(text)
}

func (internals) MarksFailure(d Dialect) bool {
	return d.marksFailure()
}

func (internals) Media(r *Request) iter.Seq[transcript.Span] {
	return r.media()
}

func (internals) Repair(r *Request, p Repair, o CheckOptions) (*repairedRequest, error) {
	return r.repair(p, o)
}

func (internals) RepairSince(r *Request, ctx context.Context, before *Request, p Repair, o CheckOptions) (*repairedRequest, error) {
	return r.repairSince(ctx, before, p, o)
}

func (internals) MessageIn(r *Request, before *Request, i int) int {
	return r.messageIn(before, i)
}

func (internals) MessagePathIn(r *Request, before *Request, i int) string {
	return r.messagePathIn(before, i)
}

func (internals) MessageTokens(r *Request, c Counter, i int) int {
	return r.tokensOfMessage(c, i)
}

func (internals) ModelInURL(d Dialect) bool {
	return d.modelInURL()
}

// Required is the member that a request of a dialect must have beside its history and its model; empty:
// there is none.
func (internals) Required(d Dialect) string { return grammars[d].required }

func (internals) NoMessage(r *Request, i int) string {
	return r.noMessage(i)
}

func (internals) OwnReply(text string) bool {
	return ownReply(text)
}

func (internals) PathIn(r *Request, before *Request, b transcript.BlockID) string {
	return r.pathWithin(before, b)
}

func (internals) PathsIn(r *Request, before *Request, b transcript.BlockID, room *Paths) []string {
	return r.pathsIn(before, b, room)
}

func (internals) PersonSpeaks(text []byte) bool {
	return personSpeaks(text)
}

// PersonText returns the words of a person in a block: without reminders, quotations and other text that
// a client or Pare wrote. It is "" in messages of other roles than the user's, and for attachments.
func (internals) PersonText(r *Request, b transcript.BlockID) string {
	return r.personText(b)
}

// FromPerson reports whether a person wrote or attached a block: the message is one in which a person
// speaks, and the block is neither a result nor a mark of the client.
func (internals) FromPerson(r *Request, b transcript.BlockID) bool {
	return r.fromPerson(b)
}

func (internals) PersonsWords(text string) string {
	return personsWords(text)
}

func (internals) QuotedIn(raw []byte, at transcript.Span) map[int]bool {
	return quotedIn(raw, at)
}

func (internals) ReadTokens(r *Request, c Counter, i int) int {
	return r.readTokens(c, i)
}

func (internals) ResultIsCleared(r *Request, result transcript.BlockID) bool {
	return r.resultIsCleared(result)
}

func (internals) Rewrite(r *Request, drop []transcript.BlockID, edits []BlockEdit, insert ...Insertion) (*Request, []Change, error) {
	return r.rewrite(drop, edits, insert...)
}

func (internals) RewriteSince(r *Request, before *Request, drop []transcript.BlockID, edits []BlockEdit, insert ...Insertion) (*Request, []Change, error) {
	return r.rewriteSince(before, drop, edits, insert...)
}

func (internals) RuleSlugs() map[string]string {
	return ruleSlugs()
}

func (internals) RulesOf(changes []Change) (names []string) {
	return rulesOf(changes)
}

// SameOutside reports whether the bytes before and after the list of messages are those of another
// request.
func (internals) SameOutside(r, other *Request) bool {
	return bytes.Equal(r.raw[:r.list.Start], other.raw[:other.list.Start]) && bytes.Equal(r.raw[r.list.End:], other.raw[other.list.End:])
}

func (internals) SaidTokens(r *Request, c Counter, b transcript.BlockID, text string) int {
	return r.saidTokens(c, b, text)
}

func (internals) TextMessage(d Dialect, role transcript.Role, text string) []byte {
	return d.textMessage(role, text)
}

func (internals) Unsigned(r *Request, rule string, messages int) (*Request, []Change, error) {
	return r.unsigned(rule, messages)
}

func (internals) UnwrapInvokeModel(raw []byte) (e Envelope, ok bool) {
	return unwrapInvokeModel(raw)
}
