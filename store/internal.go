package store

import (
	"context"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/internal/inside"
)

// Internal opens what the packages of this module use of each other and users do not see:
// nobody else can import the key.
func Internal(*inside.Key) internals { return internals{} }

// internals has the functions and methods behind the door. Each does what its namesake in
// lower case says.
type internals struct{}

func (internals) Fullness(s *Store, ctx context.Context, key Key) (*fullness.Outlook, error) {
	return s.fullness(ctx, key, 0)
}

func (internals) Engine(s *Store) string {
	return s.engine()
}

// Limited is a policy with the limits that somebody asks for; nil: none.
func (internals) Limited(p *pare.Policy, maxTokens, maxMessages, maxExchanges, maxTurns, minKeep *int) (*pare.Policy, error) {
	return limits{maxTokens, maxMessages, maxExchanges, maxTurns, minKeep}.of(p)
}

func (internals) Memory(s *Store) *memory {
	return s.memory()
}

func (internals) NeedCompaction(s *Store, ctx context.Context, above, resting int64, now time.Time, limit int) (keys []Key, err error) {
	return s.needCompaction(ctx, above, resting, now, limit)
}

func (internals) Ping(s *Store, ctx context.Context) error {
	return s.ping(ctx)
}

func (internals) Receipts(s *Store) *receipts {
	return s.receipts()
}

func (internals) FsckSession(s *Store, ctx context.Context, key Key, repair bool) (found []Problem, err error) {
	return s.fsckSession(ctx, key, repair)
}
