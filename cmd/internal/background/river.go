package background

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/pare-llm/pare/store"
)

// queue separates Pare's jobs from others in the same database.
const queue = "pare"

// scanArgs are the arguments of a job that scans for sessions.
type scanArgs struct{}

func (scanArgs) Kind() string { return "pare_look" }

// compactArgs are the arguments of a job that compacts one session. There is at most one
// unfinished job per session.
type compactArgs struct {
	Key store.Key `json:"key"`
}

func (compactArgs) Kind() string { return "pare_compact" }

// unfinishedStates are the states of jobs that have not ended.
var unfinishedStates = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
}

func (compactArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queue, MaxAttempts: 3, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: unfinishedStates}}
}

func (scanArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queue, MaxAttempts: 1, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: unfinishedStates}}
}

// A scanWorker creates a job for each session that is due.
type scanWorker struct {
	river.WorkerDefaults[scanArgs]
	w *compactor
}

func (l *scanWorker) Work(ctx context.Context, _ *river.Job[scanArgs]) error {
	keys, err := l.w.findDue(ctx)
	if err != nil || len(keys) == 0 {
		return err
	}
	jobs := make([]river.InsertManyParams, len(keys))
	for i, key := range keys {
		jobs[i] = river.InsertManyParams{Args: compactArgs{key}}
	}
	_, err = river.ClientFromContext[pgx.Tx](ctx).InsertMany(ctx, jobs)
	return err
}

// A compactWorker compacts one session.
type compactWorker struct {
	river.WorkerDefaults[compactArgs]
	w *compactor
}

func (c *compactWorker) Work(ctx context.Context, job *river.Job[compactArgs]) error {
	return c.w.compact(ctx, job.Args.Key)
}

// Timeout returns a limit above that of any summarizer.
func (c *compactWorker) Timeout(*river.Job[compactArgs]) time.Duration { return 10 * time.Minute }

// startRiver works on jobs that all replicas share. River's tables are in the same database; the
// leading replica creates the scans.
func startRiver(ctx context.Context, dsn string, w *compactor) (*Runner, error) {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("background: the address of the database cannot be used") // the error may hold the password
	}
	client, err := newRiver(ctx, pool, w)
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("background: %w", err)
	}
	if err := client.Start(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("background: %w", err)
	}
	return &Runner{func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		client.StopAndCancel(late)
		pool.Close()
	}}, nil
}

func newRiver(ctx context.Context, pool *pgxpool.Pool, w *compactor) (*river.Client[pgx.Tx], error) {
	if err := migrate(ctx, pool); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &scanWorker{w: w})
	river.AddWorker(workers, &compactWorker{w: w})
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		Logger:  w.options.Log,
		Workers: workers,
		Queues:  map[string]river.QueueConfig{queue: {MaxWorkers: w.options.Workers + 1}},
		PeriodicJobs: []*river.PeriodicJob{river.NewPeriodicJob(river.PeriodicInterval(w.options.Every),
			func() (river.JobArgs, *river.InsertOpts) { return scanArgs{}, nil }, &river.PeriodicJobOpts{RunOnStart: true})},
		// A replica that died is given up on after so long, and its jobs are done by others.
		RescueStuckJobsAfter: 11 * time.Minute,
	})
}

// migrationLock is the advisory lock that one replica holds while it migrates River's tables.
const migrationLock = 0x72697672

func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, migrationLock); err != nil {
		return err
	}
	defer conn.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, migrationLock)
	m, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}
