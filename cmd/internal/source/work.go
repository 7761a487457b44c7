package source

// Work feeds what produce emits to work, on so many workers, and hands the outcomes to
// consume in the order of production. The inputs in memory are bounded by jobs and the
// one being produced, the outcomes that wait for their turn by jobs and queue. emit
// returns false when consume has, and nothing more is wanted.
func Work[In, Out any](jobs, queue int, produce func(emit func(In) bool), work func(In) Out, consume func(Out) bool) {
	type job struct {
		in  In
		out chan Out
	}
	todo := make(chan job)
	// A long queue keeps all cores busy behind one input that takes its time.
	pending := make(chan chan Out, queue)
	stop := make(chan struct{})
	for range jobs {
		go func() {
			for j := range todo {
				j.out <- work(j.in)
			}
		}()
	}
	emit := func(in In) bool {
		j := job{in, make(chan Out, 1)}
		select {
		case <-stop:
			return false
		case todo <- j:
		}
		pending <- j.out
		return true
	}
	go func() {
		produce(emit)
		close(todo)
		close(pending)
	}()
	for out := range pending {
		if !consume(<-out) {
			close(stop)
			consume = func(Out) bool { return true } // drain, so that nobody is left waiting
		}
	}
}
