package main

// pipeline feeds what produce emits to work, on up to jobs goroutines, and hands
// the outcomes to consume in the order of production. The inputs in memory are
// bounded by jobs and the one being produced, the outcomes that wait for their turn
// by jobs and queue. emit returns false when consume has, and nothing more is
// wanted.
func pipeline[In, Out any](jobs, queue int, produce func(emit func(In) bool), work func(In) Out, consume func(Out) bool) {
	busy := make(chan struct{}, jobs)
	// A long queue keeps all cores busy behind one input that takes its time.
	pending := make(chan chan Out, queue)
	stop := make(chan struct{})
	emit := func(in In) bool {
		select {
		case <-stop:
			return false
		case busy <- struct{}{}:
		}
		slot := make(chan Out, 1)
		go func() {
			out := work(in)
			<-busy
			slot <- out
		}()
		pending <- slot
		return true
	}
	go func() {
		produce(emit)
		close(pending)
	}()
	for slot := range pending {
		if !consume(<-slot) {
			close(stop)
			consume = func(Out) bool { return true } // drain, so that nobody is left waiting
		}
	}
}
