package watch

import (
	"time"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/model"
)

// result is what one order brought, and what the reader knew after it.
type result struct {
	kind          orderKind
	readings      []model.Reading
	gone, leftOut []string
	hot           *model.HotKeys
	health        *model.Health
	err           error // the server is away; the readings came before it went

	commands         int64         // sent for the order, by everything that watches
	cost             time.Duration // of the server since the result before
	rtt              time.Duration
	offset, offsetBy time.Duration // of the server's clock, and how far it may be off
	server           identity
	sweep            model.Sweep
	lacks            []string
	away             []model.Node
	idle             bool // nothing is written
	covered          bool // and the next write is announced
}

// identity is what a server says about itself.
type identity struct {
	role, version, runID string
	clusterNode          bool // of a cluster, and not all of it
}

// emitter builds the batches and keeps the state of the link. It belongs to the goroutine
// of Watch.Run.
type emitter struct {
	emit     func(model.Batch)
	server   model.Server // what does not change
	patterns []string     // of discovery
	begun    time.Time

	link  model.Link
	err   string    // why the link is not live
	since time.Time // of the latest answer
	sent  time.Time // of the latest batch
	at    limiter.Instant
	cost  model.Cost
	last  result // the latest that was answered
}

// take emits what a result brought.
func (e *emitter) take(now time.Time, r result) {
	e.cost.Commands += r.commands
	e.cost.Server += r.cost
	if r.err == nil || len(r.readings) > 0 {
		e.link, e.err, e.since = model.Live, "", now
		e.last = r
		if r.kind == orderFull || len(r.readings) > 0 || r.err != nil {
			e.send(now, r.readings, r.gone)
		}
	}
	if r.err != nil {
		was := e.link
		e.lost(r.err)
		if was == model.Live || e.sent.IsZero() {
			e.send(now, nil, nil)
		}
	}
}

// lost notes that the server is away. A reason that is known is not replaced by silence.
func (e *emitter) lost(err error) {
	if e.link == model.Live {
		e.link = model.Down
	}
	if err == errSilent && e.err != "" {
		return
	}
	e.err = connect.Explain(err, e.server.Target)
}

// send emits a batch.
func (e *emitter) send(now time.Time, readings []model.Reading, gone []string) {
	b := model.Batch{Local: now, Readings: readings, Gone: gone, Server: e.server}
	s := &b.Server
	s.Link, s.Err = e.link, e.err
	s.Role, s.Version, s.RTT, s.Offset, s.OffsetBy = e.last.server.role, e.last.server.version, e.last.rtt, e.last.offset, e.last.offsetBy
	if s.Embedded {
		s.Role = "embedded"
	}
	switch e.link {
	case model.Live:
		b.At = limiter.InstantOf(now.Add(s.Offset))
		if len(readings) > 0 {
			b.At = 0
			for i := range readings {
				b.At = max(b.At, readings[i].At)
			}
		}
		b.At = max(b.At, e.at)
		e.at = b.At
	case model.Down:
		b.At = e.at
		s.Down = now.Sub(e.since)
	default:
		s.Down = now.Sub(e.begun)
	}
	s.Lacks, s.Away, s.RunID = e.last.lacks, e.last.away, e.last.server.runID
	b.Health, e.last.health = e.last.health, nil
	b.HotKeys, b.LeftOut = e.last.hot, e.last.leftOut
	e.last.hot, e.last.leftOut = nil, nil
	if b.Sweep = e.last.sweep; b.Sweep.Patterns == nil {
		b.Sweep.Patterns = e.patterns
	}
	if !e.sent.IsZero() {
		e.cost.Over = now.Sub(e.sent)
	}
	e.sent = now
	b.Cost, e.cost = e.cost, model.Cost{}
	e.emit(b)
}
