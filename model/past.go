package model

import (
	"slices"
	"time"

	"ratescope/limiter"
)

// AsOf returns the board at an instant of its past, as far as its timelines go back: all gauges are
// calculated from the timelines, which both boards share.
func (b *Board) AsOf(t limiter.Instant) *Board {
	f := b.copy(t, func(k *Watched) *Watched {
		then := *k
		r, known := k.readingAt(t)
		then.Reading, then.Gauge, then.episode = r, Gauge{}, episode{}
		if known {
			then.Gauge = r.Gauge(t)
		}
		return &then
	})
	if later := slices.IndexFunc(f.alerts, func(a Alert) bool { return a.At > t }); later >= 0 {
		f.alerts = f.alerts[:later:later]
	}
	return f
}

// readingAt returns the reading of the key at t, calculated from its timeline; known is false if the
// timeline does not reach far enough back.
func (k *Watched) readingAt(t limiter.Instant) (r Reading, known bool) {
	r = k.Reading
	if r.At <= t || r.Err != "" {
		return r, true
	}
	w, kind := k.Timeline.Window(), r.Target.Algorithm.Kind()
	r.At, r.TTL, r.Trace, r.Arrivals = t, 0, nil, nil
	r.PreviousKnown, r.ExactKnown = false, false
	if r.Denied.Known {
		r.Denied.N = k.Timeline.join(k.Timeline.Index(t.Add(-w))+1, k.Timeline.Index(t)).Denied
	}
	bin, _ := k.Timeline.peek(k.Timeline.Index(t))
	used := bin.Used
	switch {
	case kind == limiter.KindLog:
		r.State.Log, known = k.Timeline.entries(t.Add(-2*w), t)
		r.ExactKnown, r.PreviousKnown = known, known
	case (kind == limiter.KindWeighted || kind == limiter.KindWindow) && r.Target.Convention.Alignment == limiter.AlignEpoch:
		start := t.Floor(w)
		r.State.Start = start
		r.State.Current, known = k.Timeline.Admitted(start-1, t)
		r.State.Previous, r.PreviousKnown = k.Timeline.Admitted(start.Add(-w)-1, start-1)
	case !bin.UsedKnown:
	case kind == limiter.KindArrival && r.Target.Limit.Count > 0:
		r.State.TAT, known = t.Add(time.Duration(used)*w/time.Duration(r.Target.Limit.Count)), true
	case kind == limiter.KindBucket:
		r.State.Level, r.State.Filled, known = float64(used), t, true
		if !r.Target.Algorithm.Fills() {
			r.State.Level = float64(Capacity(r.Target) - used)
		}
	case kind == limiter.KindWindow && r.State.Start <= t:
		r.State.Current, known = used, true
	}
	return r, known
}

// entries returns the units admitted from since to at as a log, and whether the key was watched
// during the last window before at.
func (t *Timeline) entries(since, at limiter.Instant) (log []limiter.Entry, watched bool) {
	log = []limiter.Entry{}
	var buffer [chunkBins]Bin
	var b *Bin
	w := walk{t: t}
	for i := t.Index(since) + 1; i <= t.Index(at); i++ {
		if w, b = w.at(i, &buffer); b != nil && b.Admitted > 0 {
			log = append(log, limiter.Entry{At: min(t.Begin(i+1)-1, at), Count: b.Admitted})
		}
	}
	_, watched = t.Admitted(at.Add(-t.window), at)
	return log, watched
}
