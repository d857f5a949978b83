package bench

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/model/collect"
)

// Options say what a limiter is told and promises.
type Options struct {
	Limit limiter.Limit
	Exact bool // it promises never to admit more than the limit in a window, whatever it is
	// Cost says that requests tell their cost, and CostAsked that its author asked for that.
	Cost, CostAsked bool
}

// Effort of all experiments, in requests.
const mostRequests = 1_000_000

// bench is the experiments with one limiter.
type bench struct {
	identifier
	o Options
	r Report

	several bool // a second limit was seen
	unnamed bool // one of them could not be named
	lasts   bool // it is what it was identified as where keys do not expire alone
}

// Check finds out what a limiter does. It sends some ten thousand requests. The error is one of the means,
// not of the limiter: an error of that is a finding.
func Check(subject Subject, o Options) (Report, error) {
	b := &bench{o: o, r: Report{Told: o.Limit}}
	b.player = player{subject: subject, zero: Zero(o.Limit.Window), most: mostRequests}
	b.limit, b.random = o.Limit, rand.New(rand.NewPCG(1, 2))
	b.store, _ = subject.(Store)
	err := b.run()
	for _, r := range b.own {
		c, last := b.r.Identity.Candidate, len(r.steps)-1
		if c.Algorithm != limiter.Unknown && b.answers(c, r.steps)[last] < r.steps[last].N {
			b.r.find(Fails, false, b.failing(r.steps), "it denies by an error, where its algorithm denies too: %s", r.err)
		} else if b.why == nil {
			b.why, b.failed = r.err, r.steps
		}
	}
	if why := b.why; why != nil {
		failed := b.failed
		if !errors.Is(why, ErrEndless) {
			failed = b.failing(failed)
		}
		b.r.find(Fails, true, failed, "the limiter fails: %s", why)
	}
	if errors.Is(err, errSpent) || errors.Is(err, ErrEndless) {
		err = nil
	}
	b.r.sort()
	b.r.Requests, b.r.Traffics = b.sent, len(b.trials)
	return b.r, err
}

// failing makes traffic after which the limiter answers with an error as small as it goes.
func (b *bench) failing(steps []Step) []Step {
	why, own := b.why, b.own
	defer func() { b.why, b.own = why, own }()
	b.why, b.own = nil, nil
	fewer := b.minimize(steps, func([]Step, []int64) bool {
		again := b.why != nil || b.own != nil
		b.why, b.own = nil, nil
		return again
	})
	if fewer == nil {
		return steps
	}
	return fewer
}

// Confirm sends the traffic of the worst window and of each finding to another subject, which should be the
// same limiter elsewhere, and notes whether that answers alike.
func (r *Report) Confirm(here, there Subject, where string) (err error) {
	alike := func(steps []Step) (string, error) {
		var got [2][]int64
		for i, subject := range []Subject{here, there} {
			p := player{subject: subject, zero: Zero(r.Told.Window), spread: time.Microsecond, all: true}
			if got[i], err = p.play(steps); err != nil {
				return "", err
			}
		}
		if !slices.Equal(got[0], got[1]) {
			return fmt.Sprintf("not confirmed on %s: it admits %d of these, not %d", where, sum(got[1]), sum(got[0])), nil
		}
		return "confirmed on " + where, nil
	}
	if r.Worst.Confirmed, err = alike(r.Worst.Steps); err != nil {
		return err
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Confirmed, err = alike(f.Steps); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) run() error {
	if _, err := b.play([]Step{{At: time.Second, N: 1}}); err != nil || b.why != nil || len(b.own) > 0 {
		return err // it fails at once: there is nothing to find out
	}
	for _, f := range []func() error{b.instants, b.name, b.most, b.least, b.keys, b.clocks, b.costs} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// instants finds out whether requests at one instant count once.
func (b *bench) instants() error {
	if b.store == nil {
		return nil
	}
	b.r.Commands = cmp.Or(b.r.Commands, b.store.Commands())
	units := []time.Duration{0, time.Microsecond, time.Millisecond, time.Second} // servers are not faster than the second
	for i, d := range units {
		if same, err := b.watcher().collides(d); err != nil || !same {
			return err
		}
		b.r.Findings = nil
		if i+1 == len(units) { // it counts nothing
			b.spread = time.Microsecond
			break
		}
		if b.spread = units[i+1]; i > 0 {
			all, err := b.watcher().collides(units[i+1] - time.Microsecond)
			if err != nil {
				return err
			}
			when := "a microsecond apart"
			if all {
				when = "in the same " + []string{"millisecond", "second"}[i-1]
			}
			b.r.find(SameInstant, true, []Step{{At: 0, N: 2}}, "requests %s count once: the second is admitted and leaves no trace", when)
		}
	}
	return nil
}

func (b *bench) name() error {
	err := b.measure(b.uneven())
	if err != nil {
		return err
	}
	if b.stored, err = b.watcher().hint(); err != nil {
		return err
	}
	if !b.m.endless && b.m.capacity > 0 {
		if err = b.settle(); err != nil {
			return err
		}
	} else if b.m.endless && len(b.r.Findings) > 0 {
		b.r.Identity.Candidate = Candidate{Algorithm: b.stored, Limit: b.limit}
	}
	id := &b.r.Identity
	switch alike := b.stored.Bursts() || describe.KindOf(b.stored) == describe.Log; {
	case id.Algorithm == limiter.Unknown:
	case alike && id.Algorithm.Bursts() && b.stored.Bursts() && id.Terms.Refill != convention.Interval:
		for c := &id.Candidate; c != nil; c = c.Beside {
			if c.Algorithm.Bursts() {
				c.Algorithm = b.stored
			}
		}
	case alike && id.Algorithm == limiter.SlidingLog && b.stored == limiter.StreamCounter:
		id.Algorithm = b.stored
	}
	b.measuredLimit()
	return b.charges()
}

// settle identifies it, and once more as it is without expiries where it is nothing that is known, or not what it stores.
func (b *bench) settle() error {
	id, err := b.identify(candidates(b.limit, b.m))
	if err != nil {
		return err
	}
	id, b.several, err = b.beside(id)
	if err != nil {
		return err
	}
	unlike := (b.stored.Bursts() || describe.KindOf(b.stored) == describe.Log) && !b.stores(id.Candidate)
	if b.store != nil && !b.several && (!id.Exact || unlike) {
		trials := b.trials
		b.store.Persist(true)
		var lasting Identity
		err = b.aside(b.limit, func() error {
			err := b.measure(b.uneven())
			if err == nil && !b.m.endless && b.m.capacity > 0 && b.m.first > 0 {
				lasting, err = b.identify(candidates(b.limit, b.m))
			}
			return err
		})
		b.store.Persist(false)
		if b.trials = trials; err != nil {
			return err
		}
		if b.lasts = lasting.Exact && lasting.Block == 0; b.lasts {
			id = lasting
		}
	}
	if w := id.Limit.Window; id.Exact && (w-b.limit.Window).Abs() <= time.Millisecond {
		b.limit.Window = w // no expiry is more exact
	}
	if b.why != nil && b.m.capacity < b.limit.Count { // what fails at its second request tells nothing
		id = Identity{Asked: id.Asked}
	}
	b.r.Identity = id
	return b.early()
}

// measuredLimit says which limit was measured.
func (b *bench) measuredLimit() {
	c, l := b.r.Identity.Candidate, &b.r.Limit
	if c.Beside != nil {
		*l = c.Limit
		return
	}
	if !b.m.endless && !b.sparse() {
		l.Count = b.m.capacity
	}
	if c.Algorithm == limiter.Unknown || b.m.endless {
		return
	}
	if l.Window = c.Limit.Window; !c.Algorithm.Bursts() {
		if l.Window == b.limit.Window {
			l.Window = b.o.Limit.Window
		}
		if b.m.first == 0 { // nothing came back
			l.Window = 0
		}
		return
	}
	l.Burst = c.Limit.Burst
	if whole := c.Limit.Window * time.Duration(b.m.capacity) / time.Duration(c.Limit.Count); !b.r.Identity.Exact && (whole-b.m.all).Abs() >
		c.Limit.Window/time.Duration(c.Limit.Count)+2*time.Millisecond {
		l.Window = 0 // how fast it fills is not known
		return
	}
	n := rate(c.Limit, b.limit.Window)
	whole := math.Round(n)
	if whole >= 1 && math.Abs(n-whole) < n/200 { // the same rate but for an interval of whole milliseconds, said as the user says it
		l.Count, l.Window = int64(whole), b.limit.Window
	} else {
		l.Count = c.Limit.Count
	}
}

// sparse reports whether requests that count apart are so far apart that a window cannot be filled.
func (b *bench) sparse() bool { return b.spread*time.Duration(b.limit.Count) >= b.limit.Window }

// charges finds out whether denied requests leave something behind, where the answers do not tell.
func (b *bench) charges() error {
	if b.store == nil || b.m.endless {
		return nil
	}
	n := b.m.capacity
	steps := []Step{{At: time.Second, N: n + 1}, {At: time.Second + time.Duration(n+2)*max(b.spread, time.Nanosecond), N: 1}}
	var seen [2][]Key
	if err := b.watcher().watch(steps, func(i int, _ int64, keys []Key) bool { seen[i] = keys; return true }); err != nil {
		return err
	}
	before, after := seen[0], seen[1]
	if b.r.Identity.Charged == nil || b.r.Identity.Terms.Denied == convention.Free && b.r.Identity.Algorithm == limiter.FixedWindow {
		a, _ := amounts(before, b.zero)
		z, _ := amounts(after, b.zero)
		changed := size(after) > size(before)
		for name, v := range z {
			changed = changed || v != a[name]
		}
		if !changed || !b.r.Identity.Algorithm.Bursts() { // a bucket may write down what it has refilled
			b.r.Identity.Charged = &changed
		}
	}
	b.r.Keys = before
	return nil
}

// early finds out whether keys expire while what they hold still counts.
func (b *bench) early() error {
	id := b.r.Identity
	switch {
	case b.store == nil || !id.Exact ||
		b.why != nil || id.Algorithm.Bursts() && !b.stored.Bursts(): // without a time the expiry is its clock
		return nil
	case id.Block > 0: // it ends with an expiry
		return nil
	case id.Renewed || id.Algorithm == limiter.FixedWindow && !b.lasts:
		if id.Limit.Window < b.limit.Window { // the expiry is its window
			b.r.find(ExpiresEarly, true, []Step{{At: 0, N: b.m.capacity}, {At: b.m.first, N: b.m.capacity}},
				"keys expire after %s, and what they hold should count for %s", seconds(id.Limit.Window), seconds(b.limit.Window))
		}
		return nil
	}
	more := func(steps []Step, got []int64) bool {
		b.store.Persist(true)
		lasting, err := b.play(steps)
		b.store.Persist(false)
		i := firstUnlike(got, lasting)
		return err == nil && i >= 0 && got[i] > lasting[i]
	}
	for _, t := range b.trials {
		if more(t.steps, t.admitted) {
			steps := b.minimize(t.steps, more)
			b.r.find(ExpiresEarly, true, steps, "keys expire while what they hold still counts: with keys that last, the last of these "+
				"requests are denied")
			return nil
		}
	}
	return nil
}

// most searches the worst window and judges it.
func (b *bench) most() error {
	spread := b.spread
	b.spread = min(spread, time.Microsecond)
	defer func() { b.spread = spread }()
	id := b.r.Identity
	if b.m.endless {
		b.r.Worst = Worst{Admitted: b.m.capacity, AtLeast: true, Steps: []Step{{At: 0, N: b.m.capacity}}}
		b.r.find(OverAdmits, true, []Step{{At: 0, N: b.limit.Count + 1}},
			"no denial was seen: %d are admitted at one instant, and more where more come", b.m.capacity)
		return nil
	}
	n, searched := 8*b.burst(), 1
	steps := []Step{{At: 0, N: n}}
	got, err := b.play(steps)
	endless := got[0] == n // where requests at one instant count once
	if err == nil && !endless {
		look := id // what expires early does more than it is
		look.Exact = id.Exact && !slices.ContainsFunc(b.r.Findings, func(f Finding) bool { return f.ID == ExpiresEarly })
		n, steps, searched, err = b.worst(look)
	}
	if err != nil {
		return err
	}
	b.r.Worst = Worst{Admitted: n, AtLeast: endless || b.cutOff, Steps: steps, Searched: searched}
	if n <= b.limit.Count || !endless && b.m.capacity > max(b.limit.Burst, b.limit.Count) {
		return b.fast()
	}
	promise := b.r.promise()
	bound := promise.Bound(b.limit)
	switch {
	case b.o.Exact:
		bound = b.limit.Count
	case id.Algorithm == limiter.Unknown, id.Algorithm == limiter.FixedWindow && id.Grain > 0: // an edge within its clock's unit
		bound = 2 * b.limit.Count
	}
	if n > bound {
		fewer := b.minimize(steps, func(s []Step, got []int64) bool { return b.highest(s, got) > bound })
		if fewer == nil {
			fewer = steps
		}
		more := collect.If(endless, ", and more where more come, without a bound", "")
		b.r.find(OverAdmits, true, fewer, "%d are admitted within %s%s, where %s may admit %d: %s", n, seconds(b.limit.Window),
			more, b.promised(), bound, Words(steps))
		return nil
	}
	if id.Algorithm == limiter.Unknown && b.m.capacity <= b.limit.Count {
		b.r.find(OverAdmits, false, steps, "%d are admitted within %s, above the limit of %d; whether that is meant is not known, "+
			"for the algorithm is not", n, seconds(b.limit.Window), b.limit.Count)
		return nil
	}
	return b.fast()
}

func (b *bench) promised() string {
	if b.o.Exact || b.r.Identity.Algorithm == limiter.Unknown {
		return "the limit"
	}
	return "a " + describe.Title(b.r.Identity.Algorithm)
}

// fast looks for a limiter that admits more at once, or fills faster, than it was told.
func (b *bench) fast() error {
	c, burst := b.r.Identity.Candidate, max(b.limit.Burst, b.limit.Count)
	if b.m.capacity > burst {
		b.r.find(OverAdmits, true, []Step{{At: 0, N: burst + 1}}, "%d are admitted at once, where the limit is %d", b.m.capacity, burst)
		return nil
	}
	if !c.Algorithm.Bursts() || !b.r.Identity.Exact {
		return nil
	}
	if told := rate(b.limit, b.limit.Window); rate(c.Limit, b.limit.Window) > told*1.0001 {
		steps := []Step{}
		for i := range int64(10) {
			steps = append(steps, Step{At: time.Duration(i) * b.limit.Window, N: 2 * b.limit.Count})
		}
		b.r.find(OverAdmits, true, steps, "%.4g come back in %s, where the limit is %d", rate(c.Limit, b.limit.Window),
			seconds(b.limit.Window), b.limit.Count)
	}
	return nil
}

// least looks for requests that are denied although the limit has room for them.
func (b *bench) least() error {
	promise := b.r.promise()
	promise.Limit.Window = b.limit.Window // an expiry may have made it a millisecond shorter
	if b.why != nil || b.sparse() || b.unnamed {
		return nil // what failed was not denied, where no window is filled, none is to be denied, and another limit may deny
	}
	if promise.Algorithm == limiter.Unknown || b.m.endless {
		switch {
		case b.m.endless:
		case b.m.capacity < b.limit.Count:
			b.r.find(UnderAdmits, true, []Step{{At: 0, N: b.m.capacity + 1}},
				"%d are admitted at once, where the limit is %d", b.m.capacity, b.limit.Count)
		case b.m.first == 0 || b.m.first > 2*b.limit.Window+time.Second:
			b.r.find(UnderAdmits, true, []Step{{At: 0, N: b.m.capacity}, {At: 3 * b.limit.Window, N: 1}},
				"after %d requests none is admitted for more than two windows", b.m.capacity)
		}
		return nil
	}
	fewer := func(steps []Step, got []int64) bool {
		want := b.answers(promise, steps)
		i := firstUnlike(got, want)
		return i >= 0 && got[i] < want[i]
	}
	for _, gap := range []time.Duration{b.limit.Window / 40, b.limit.Window / time.Duration(3*b.limit.Count),
		7 * b.limit.Window / time.Duration(10*b.limit.Count)} {
		gap = max(gap.Truncate(time.Millisecond), time.Millisecond)
		var again []Step // a client that asks again and again
		for at := time.Duration(0); at < 4*b.limit.Window && len(again) < 2000; at += gap {
			again = append(again, Step{At: at, N: 1})
		}
		if err := b.try(again); err != nil {
			return err
		}
	}
	starves := false
	wanted, had := int64(0), int64(0)
	var shortest []Step
	for _, t := range b.trials {
		want := b.answers(promise, t.steps)
		asked, got := sum(want), sum(t.admitted)
		wanted, had, starves = wanted+asked, had+got, starves || asked > 4 && got*10 < asked*9 && len(t.steps) > 50
		if i := firstUnlike(t.admitted, want); i >= 0 && t.admitted[i] < want[i] && (shortest == nil ||
			requests(t.steps[:i+1]) < requests(shortest)) {
			shortest = slices.Clone(t.steps[:i+1])
		}
	}
	if shortest == nil {
		return nil
	}
	steps := b.minimize(shortest, fewer)
	if steps == nil {
		return nil
	}
	// A clock of whole seconds, a last digit, or a block that grows is no fault; a share of what was asked for is.
	id := b.r.Identity
	units := id.Exact && id.Grain > 0 && id.Limit.Count == b.limit.Count && id.Limit.Window == b.limit.Window
	few := promise.Beside == nil && b.m.capacity < min(b.limit.Count, promise.Bound(b.limit))
	fault := !units && (id.Block == 0 || id.Exact) && (starves || few || (wanted-had)*50 > wanted)
	if !fault {
		last := len(steps) - 1
		late := append(slices.Clone(steps[:last]), later(steps[last:], time.Millisecond)...)
		if got, err := b.play(late); err != nil || got[last] >= b.answers(promise, steps)[last] {
			return err
		}
	}
	b.r.find(UnderAdmits, fault, steps, "the last of these requests is denied, and %s of %d in %s has room for it: %s",
		"a "+describe.Title(promise.Algorithm), b.limit.Count, seconds(b.limit.Window), Words(joined(steps)))
	return nil
}
