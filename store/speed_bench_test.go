//go:build unix

package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

// benchEngines runs a benchmark on both databases.
func benchEngines(b *testing.B, f func(b *testing.B, dsn string)) {
	b.Run("sqlite", func(b *testing.B) { f(b, filepath.Join(b.TempDir(), "pare.db")) })
	b.Run("postgres", func(b *testing.B) { f(b, pgtest.Durable(b)) })
}

// BenchmarkAppend compares appends with bare INSERTs of the same bytes and durability, in turns,
// with the same number of writers. It also measures the processor time of both, including the
// server.
func BenchmarkAppend(b *testing.B) {
	const rounds, perRound = 12, 640 // a writer settles marks in every round
	benchEngines(b, func(b *testing.B, dsn string) {
		st := open(b, dsn)
		bare := bareTable(b, dsn)
		for _, writers := range []int{1, 8} {
			b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
				var ours, theirs []time.Duration
				each := make([][2][]time.Duration, writers) // by writer: of appends, of inserts
				var ourTime, theirTime time.Duration        // of the processors
				var ourBytes, theirBytes int64              // that were written
				keys, talks := make([]store.Key, writers), make([]*talk, writers)
				for w := range writers {
					keys[w] = create(b, st, store.NewID())
					talks[w] = &talk{r: rand.New(rand.NewPCG(1, uint64(w)))}
				}
				for round := range rounds {
					lists := make([][][]byte, writers)
					for w := range writers {
						for range perRound / writers {
							lists[w] = append(lists[w], talks[w].next())
						}
					}
					start, first := processors(b), bytesWritten(b, st)
					a := together(writers, func(w int) {
						for i, raw := range lists[w] {
							i += round * len(lists[w])
							begin := time.Now()
							if _, err := st.Append(ctx, keys[w], store.Exactly(int64(i)), store.Message(fmt.Sprintf("m%d", i), raw)); err != nil {
								panic(err)
							}
							each[w][0] = append(each[w][0], time.Since(begin))
						}
					})
					middle, second := processors(b), bytesWritten(b, st)
					c := together(writers, func(w int) {
						for _, raw := range lists[w] {
							begin := time.Now()
							if _, err := bare.Exec(raw); err != nil {
								panic(err)
							}
							each[w][1] = append(each[w][1], time.Since(begin))
						}
					})
					ours, theirs = append(ours, a), append(theirs, c)
					ourTime, theirTime = ourTime+middle-start, theirTime+processors(b)-middle
					ourBytes, theirBytes = ourBytes+second-first, theirBytes+bytesWritten(b, st)-second
				}
				// The rest of the machine can only take time away: the fastest tenth of all appends is
				// nearest to what they would take alone.
				a, c := median(ours), median(theirs)
				b.ReportMetric(perRound/a.Seconds(), "appends/s")
				b.ReportMetric(perRound/c.Seconds(), "inserts/s")
				b.ReportMetric(100*c.Seconds()/a.Seconds(), "%-of-insert")
				var fast [2]time.Duration
				for i := range fast {
					var all []time.Duration
					for w := range writers {
						all = append(all, each[w][i]...)
					}
					slices.Sort(all)
					fast[i] = all[len(all)/10]
				}
				b.ReportMetric(float64(fast[0].Microseconds()), "µs/append-undisturbed")
				b.ReportMetric(float64(fast[1].Microseconds()), "µs/insert-undisturbed")
				b.ReportMetric(100*fast[1].Seconds()/fast[0].Seconds(), "%-of-insert-undisturbed")
				b.ReportMetric(float64(ourTime.Microseconds())/(rounds*perRound), "cpu-µs/append")
				b.ReportMetric(float64(theirTime.Microseconds())/(rounds*perRound), "cpu-µs/insert")
				b.ReportMetric(float64(ourBytes)/(rounds*perRound), "B-written/append")
				b.ReportMetric(float64(theirBytes)/(rounds*perRound), "B-written/insert")
				b.ReportMetric(0, "ns/op")
			})
		}
	})
}

// bytesWritten returns the bytes written so far to the log of a server, or by this process to its
// files.
func bytesWritten(b *testing.B, st *store.Store) int64 {
	if st.Engine() == "postgres" {
		return int64(st.Count(`SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`))
	}
	text, _ := os.ReadFile("/proc/self/io")
	_, text, _ = bytes.Cut(text, []byte("wchar: "))
	line, _, _ := bytes.Cut(text, []byte("\n"))
	n, _ := strconv.ParseInt(string(line), 10, 64)
	return n
}

// processors returns the processor time of this process and its children, as far as it is known.
func processors(b *testing.B) (spent time.Duration) {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		b.Fatal(err)
	}
	spent = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	var add func(pid string)
	add = func(pid string) {
		tasks, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
		for _, name := range tasks {
			children, _ := os.ReadFile(name)
			for _, child := range strings.Fields(string(children)) {
				text, err := os.ReadFile("/proc/" + child + "/stat")
				if err != nil {
					continue // it has ended
				}
				f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from the third field on
				for _, field := range f[11:15] {                                     // of it and of those it has waited for
					n, _ := strconv.Atoi(field)
					spent += time.Duration(n) * 10 * time.Millisecond
				}
				add(child)
			}
		}
	}
	add("self")
	return spent
}

func together(n int, f func(w int)) time.Duration {
	var wait sync.WaitGroup
	start := time.Now()
	for w := range n {
		wait.Go(func() { f(w) })
	}
	wait.Wait()
	return time.Since(start)
}

// bareTable returns an insert into a separate table of the same kind of database.
func bareTable(b *testing.B, dsn string) *sql.Stmt {
	driver, query := "pgx", `INSERT INTO bare (raw) VALUES ($1)`
	make := `CREATE TABLE bare (n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, raw BYTEA NOT NULL)`
	conns := 16
	if !strings.HasPrefix(dsn, "postgres:") {
		driver, query, make, conns = "sqlite", `INSERT INTO bare (raw) VALUES (?)`, `CREATE TABLE bare (n INTEGER PRIMARY KEY, raw BLOB NOT NULL)`, 1
		dsn = "file:" + dsn + ".bare?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	if _, err := db.Exec(make); err != nil {
		b.Fatal(err)
	}
	stmt, err := db.Prepare(query)
	if err != nil {
		b.Fatal(err)
	}
	return stmt
}

// BenchmarkHistory measures an append and a window of 100,000 tokens after 1,000, 10,000 and
// 100,000 messages, in turns.
func BenchmarkHistory(b *testing.B) {
	benchEngines(b, func(b *testing.B, dsn string) {
		st := open(b, dsn)
		lengths := []int{1000, 10_000, 100_000}
		if testing.Short() {
			lengths = []int{100, 1000, 10_000}
		}
		talks := make([]*talk, len(lengths))
		begin, total := time.Now(), 0
		for i, n := range lengths {
			talks[i] = createChat(b, st, create(b, st, fmt.Sprintf("h%d", n)), n)
			total += n
		}
		b.ReportMetric(float64(total)/time.Since(begin).Seconds(), "messages/s-in-large-appends")
		p := &pare.Policy{Window: &pare.Window{Tokens: 100_000, Low: 70_000}}
		appends, windows := make([][]time.Duration, len(lengths)), make([][]time.Duration, len(lengths))
		for range 25 {
			for i, n := range lengths {
				key := store.ID(fmt.Sprintf("h%d", n))
				raw := talks[i].next()
				start := time.Now()
				if _, err := st.Append(ctx, key, store.Anywhere, store.Message("", raw)); err != nil {
					b.Fatal(err)
				}
				appends[i] = append(appends[i], time.Since(start))
				start = time.Now()
				if _, err := st.Window(ctx, key, store.WindowOptions{Policy: p}); err != nil {
					b.Fatal(err)
				}
				windows[i] = append(windows[i], time.Since(start))
			}
		}
		for i, n := range lengths {
			a, w := median(appends[i]), median(windows[i])
			b.ReportMetric(float64(a.Microseconds()), fmt.Sprintf("append-µs@%d", n))
			b.ReportMetric(float64(w.Microseconds())/1000, fmt.Sprintf("window-ms@%d", n))
		}
		last := len(lengths) - 1
		b.ReportMetric(float64(median(appends[last]))/float64(median(appends[0])), "append-longest/shortest")
		b.ReportMetric(float64(median(windows[last]))/float64(median(windows[0])), "window-longest/shortest")
		b.ReportMetric(0, "ns/op")
	})
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkDisk measures bytes on disk per byte of body, with images counted once.
func BenchmarkDisk(b *testing.B) {
	benchEngines(b, func(b *testing.B, dsn string) {
		st := open(b, dsn)
		k := &talk{r: rand.New(rand.NewPCG(4, 4))}
		before := onDisk(b, st, dsn)
		body := 0
		for s := range 10 {
			key := create(b, st, fmt.Sprintf("s%d", s))
			for i := range 300 {
				raw := k.next()
				body += len(raw)
				if i%30 == 29 {
					shot := picture(60_000, byte(i%4))
					if s == 0 && i < 120 {
						body += len(shot)
					}
					raw = []byte(fmt.Sprintf(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}`, shot))
				}
				put(b, st, key, raw)
			}
		}
		b.ReportMetric(float64(onDisk(b, st, dsn)-before)/float64(body), "disk/body")
		b.ReportMetric(float64(body)/1e6, "MB-of-bodies")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkImport imports every recorded conversation, and measures the time and bytes on disk per
// byte of body.
func BenchmarkImport(b *testing.B) {
	benchEngines(b, func(b *testing.B, dsn string) {
		all := corpus.LastRequests(b)
		st := open(b, dsn)
		before := onDisk(b, st, dsn)
		messages, bytes := 0, 0
		start := time.Now()
		for i, c := range all {
			r, err := wire.Parse(c.Raw, wire.Options{Model: c.Model})
			if err != nil {
				continue
			}
			if _, err := st.Import(ctx, store.ID(fmt.Sprint(i)), "", r); err != nil {
				b.Fatal(err)
			}
			messages += len(r.Transcript().Messages())
			bytes += len(c.Raw) // the base is stored, too
		}
		took := time.Since(start)
		b.ReportMetric(float64(messages)/took.Seconds(), "messages/s")
		b.ReportMetric(float64(bytes)/1e6/took.Seconds(), "MB/s")
		b.ReportMetric(float64(onDisk(b, st, dsn)-before)/float64(bytes), "disk/body")
		b.ReportMetric(float64(bytes)/1e6, "MB-of-bodies")
		b.ReportMetric(0, "ns/op")
	})
}

func onDisk(b *testing.B, st *store.Store, dsn string) int64 {
	b.Helper()
	if st.Engine() == "postgres" {
		return int64(st.Count(`SELECT pg_database_size(current_database())`))
	}
	if err := st.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(dsn)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}
