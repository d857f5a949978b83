package recorder

import "time"

// Whole is a limiter's life with small windows: idle, near, over, a cost above what is left,
// the wait until the next admission, the next window, and over again.
func Whole(r *Run) error {
	l := r.Limit()
	return all(
		func() error { return r.Phase(0.1, true) },
		func() error { return r.Call(1) },
		func() error { return r.Call(2) },
		func() error { return r.Calls(l - 3) },
		func() error { return r.Calls(2) },
		func() error { return r.Call(2) },
		func() error { return r.Peek() },
		func() error { return nextWindow(r) },
	)
}

// Single is Whole for a library that has no cost other than 1.
func Single(r *Run) error {
	l := r.Limit()
	return all(
		func() error { return r.Phase(0.1, true) },
		func() error { return r.Calls(l + 2) },
		func() error { return r.Peek() },
		func() error { return nextWindow(r) },
	)
}

// nextWindow is how Whole and Single go on after the first window: one call later in it, then the
// next window until it is over its limit again.
func nextWindow(r *Run) error {
	return all(
		func() error { return r.After(r.Window()/4, 1) },
		func() error { return r.Phase(0.2, true) },
		func() error { return r.Calls(2) },
		func() error { return r.After(r.Window()/3, r.Limit()) },
		func() error { return r.Peek() },
	)
}

// Sliding makes requests in one window and then at several phases of the next two.
func Sliding(r *Run) error {
	l := r.Limit()
	steps := []func() error{
		func() error { return r.Phase(0.5, true) },
		func() error { return r.Calls(l) },
		func() error { return r.Phase(0.05, true) },
		func() error { return r.Call(1) },
	}
	for _, phase := range []float64{0.15, 0.3, 0.5, 0.7, 0.9} {
		steps = append(steps, func() error { return r.Phase(phase, false) }, func() error { return r.Calls(2) })
	}
	steps = append(steps,
		func() error { return r.Phase(0.25, true) },
		func() error { return r.Calls(l) },
		func() error { return r.Peek() },
		func() error { return r.Sleep(2 * r.Window()) },
		func() error { return r.Call(1) },
	)
	return all(steps...)
}

// Realistic makes a few requests under a limit of a common size, without waiting.
func Realistic(r *Run) error { return r.Calls(5) }

func all(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Steps runs the functions until one fails.
func Steps(steps ...func() error) error { return all(steps...) }

// After waits and then makes n requests of cost 1.
func (r *Run) After(d time.Duration, n int) error {
	time.Sleep(d)
	return r.Calls(n)
}

// WholeBurst is Whole for a limiter whose burst is above its rate.
func WholeBurst(r *Run) error {
	b := int(*r.Configured.Burst)
	return all(
		func() error { return r.Call(1) },
		func() error { return r.Call(3) },
		func() error { return r.Calls(b - 4) },
		func() error { return r.Calls(2) },
		func() error { return r.Call(2) },
		func() error { return r.Peek() },
		func() error { return r.After(r.Window()*3/4, 3) },
		func() error { return r.Peek() },
		func() error { return r.Call(int64(b + 1)) },
		func() error { return r.After(r.Window()*2, 2) },
	)
}

// Bucket is the life of a token bucket that refills its Limit in a Window.
func Bucket(r *Run) error {
	b := int(*r.Configured.Burst)
	return all(
		func() error { return r.Phase(0.1, true) },
		func() error { return r.Call(1) },
		func() error { return r.Call(2) },
		func() error { return r.Calls(b - 3) },
		func() error { return r.Calls(2) },
		func() error { return r.Peek() },
		func() error { return r.After(r.Window()*3/2, 3) },
		func() error { return r.Call(int64(b + 1)) },
		func() error { return r.After(r.Window()*time.Duration(b+1)/time.Duration(r.Limit()), 2) },
	)
}

// RealisticCost is Realistic with a cost of 20.
func RealisticCost(r *Run) error {
	return all(
		func() error { return r.Calls(3) },
		func() error { return r.Call(20) },
		func() error { return r.Call(1) },
	)
}

// AtMost asks for more than there is.
func AtMost(r *Run) error {
	return all(
		func() error { return r.Call(3) },
		func() error { return r.Call(4) },
		func() error { return r.Call(2) },
		func() error { return r.After(r.Window()/2, 0) },
		func() error { return r.Call(4) },
	)
}

// Peeks makes requests of cost 0 in between.
func Peeks(r *Run) error {
	return all(
		func() error { return r.Call(0) },
		func() error { return r.Call(2) },
		func() error { return r.Call(0) },
		func() error { return r.Call(4) },
		func() error { return r.Call(0) },
		func() error { return r.Call(1) },
	)
}

// BucketSingle is Bucket for a library that has no cost other than 1.
func BucketSingle(r *Run) error {
	b := int(*r.Configured.Burst)
	return all(
		func() error { return r.Calls(b + 2) },
		func() error { return r.Peek() },
		func() error { return r.After(r.Window()*3/2, 4) },
		func() error { return r.After(r.Window()*3, 2) },
	)
}

// Leaky fills a queue, overfills it, and lets it run empty.
func Leaky(r *Run) error {
	b := int(*r.Configured.Burst)
	return all(
		func() error { return r.Calls(b + 2) },
		func() error { return r.Peek() },
		func() error { return r.After(r.Window()/2, 2) },
		func() error { return r.After(r.Window()*3, 2) },
	)
}

// Over fills a long window and goes over it, without waiting for the next.
func Over(r *Run) error {
	return all(
		func() error { return r.Call(1) },
		func() error { return r.Call(int64(r.Limit() - 2)) },
		func() error { return r.Calls(3) },
		func() error { return r.Call(2) },
	)
}
