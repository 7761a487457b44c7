package breaker

import (
	"errors"
	"testing"
)

var errDown = errors.New("the endpoint is down")

// call starts a job, calls the function if it may be called, and reports whether it was.
func call(b *Breaker, job byte, result error) bool {
	if b.Start(Job{job}) != nil {
		return false
	}
	b.Record(Job{job}, result)
	return true
}

func TestJobIsAskedForAtMostTwice(t *testing.T) {
	var b Breaker
	calls := 0
	for range 100 {
		if call(&b, 1, errDown) {
			calls++
		}
	}
	if calls != 2 {
		t.Errorf("%d calls for one job, want 2", calls)
	}
	if err := b.Start(Job{1}); !errors.Is(err, ErrLeftOut) || !errors.Is(err, errDown) {
		t.Errorf("%v does not wrap ErrLeftOut and the failure", err)
	}
	if !call(&b, 2, nil) {
		t.Error("another job is left out as well")
	}
	if b.Err() != nil {
		t.Errorf("after a success the last failure is still %v", b.Err())
	}
}

func TestFailingFunctionIsLeftOutForFiftyJobs(t *testing.T) {
	var b Breaker
	for job := range byte(5) {
		if !call(&b, job, errDown) {
			t.Fatalf("job %d was left out", job)
		}
	}
	for job := byte(10); job < 60; job++ {
		for range 3 { // a job that comes again is not counted again
			if job < 59 && call(&b, job, nil) {
				t.Fatalf("job %d was not left out", job)
			}
		}
	}
	if call(&b, 59, nil) {
		t.Error("the fiftieth job was not left out")
	}
	if !call(&b, 60, errDown) {
		t.Fatal("the function is not tried again after 50 jobs")
	}
	if call(&b, 61, nil) {
		t.Error("the function failed again and is not left out again")
	}
}

func TestSuccessEndsTheRow(t *testing.T) {
	var b Breaker
	for job := range byte(100) {
		result := errDown
		if job%5 == 4 {
			result = nil
		}
		if !call(&b, job, result) {
			t.Fatalf("job %d was left out after fewer than five failures in a row", job)
		}
	}
}
