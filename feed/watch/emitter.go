package watch

import (
	"context"
	"fmt"
	"time"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/model"
)

// result is the reader's answer to one order: the readings, and what the reader knows of the server after them.
type result struct {
	kind          orderKind
	readings      []model.Reading
	gone, leftOut []string
	hot           *model.HotKeys
	health        *model.Health
	err           error     // the server is away; the readings came before
	heard         time.Time // when bytes last came from the server; zero if none came since it was last connected to

	commands         int64         // sent while the order ran, by all goroutines of the session
	cost             time.Duration // server time since the previous result
	rtt, bound       time.Duration // bound is clock.bound
	offset, offsetBy time.Duration // of the server's clock from the local one, and its uncertainty
	server           identity
	sweep            model.Sweep
	lacks            []string
	away             []model.Node
	idle             bool // nothing is written, and the next write will be announced
}

// identity holds what a server says about itself in INFO.
type identity struct {
	role, version, runID string
	clusterNode          bool // it is a node of a cluster, watched on its own
}

// emitter builds the batches and keeps the state of the link. It belongs to the goroutine of Watch.Run.
type emitter struct {
	emit     func(model.Batch)
	server   model.Server // the fields that never change
	patterns []string     // the patterns that discovery searches for
	begun    time.Time    // start of the session

	link  model.Link
	err   string          // why the link is not live
	quiet bool            // because no answer came in time
	cut   time.Time       // when the connection was first cut since the latest answer; zero for never
	since time.Time       // when the latest answer came
	heard time.Time       // when bytes last came
	sent  time.Time       // when the latest batch was emitted
	at    limiter.Instant // of the latest batch
	cost  model.Cost      // since the latest batch
	last  result          // the latest result with an answer
}

// take takes a result and emits a batch if there is something to report.
func (e *emitter) take(now time.Time, r result) {
	e.cost.Commands += r.commands
	e.cost.Server += r.cost
	if r.err == nil || len(r.readings) > 0 {
		if r.offset < e.last.offset-clockSet { // the server's clock was set back, and it rules
			e.at = 0
		}
		e.link, e.err, e.quiet, e.cut, e.since = model.Live, "", false, time.Time{}, now
		e.last = r
		if r.kind == orderFull || len(r.readings) > 0 || r.err != nil {
			e.send(now, r.readings, r.gone)
		}
	}
	if connect.Cut(r.err) && e.cut.IsZero() {
		e.cut = now
	}
	e.heard = later(e.heard, r.heard)
	was, limit := e.link, silenceLimit(false, r.bound)
	switch {
	case r.err == nil:
	case was == model.Live && connect.Cut(r.err) && now.Sub(e.cut) < limit: // if a new connection is answered, it was not away
	case was == model.Live && connect.TimedOut(r.err) && now.Sub(e.heard) < limit && now.Sub(e.since) < heardFor:
		// it has become farther
	default:
		if e.lost(r.err); was == model.Live || e.sent.IsZero() {
			e.send(now, nil, nil)
		}
	}
}

// lost notes that the server is away. errSilent does not replace a more specific reason.
func (e *emitter) lost(err error) {
	if e.link == model.Live {
		e.link = model.Down
	}
	if err == errSilent && e.err != "" {
		return
	}
	e.err, e.quiet = connect.Explain(err, e.server.Target), connect.TimedOut(err)
}

// send emits a batch with the readings, the names of the limiters that are gone, and the state of the link.
func (e *emitter) send(now time.Time, readings []model.Reading, gone []string) {
	b := model.Batch{Local: now, Readings: readings, Gone: gone, Server: e.server}
	s := &b.Server
	s.Link, s.Err, s.Silent = e.link, e.err, e.quiet
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

// silentAfter is how long a server may send nothing, in addition to two round trips, those of a new connection,
// before it counts as away: longer than the round trip of a link that has just become very slow.
const silentAfter = 2 * time.Second

// heardFor is how long a server may answer no order in time while bytes come from it. Over a link that has become slow a new
// connection takes three round trips before it carries an answer.
const heardFor = 15 * time.Second

// errSilent is the error of an order whose answer does not come.
var errSilent = fmt.Errorf("no answer yet: %w", context.DeadlineExceeded)

// silenceLimit returns how long the server may send nothing on any connection while an order waits. The limit grows with the round trip
// as clock.bound has it, so that a distant server does not count as silent. In a cluster the order itself waits nodeAnswerLimit for a
// node that hangs, and tripsLimit round trips, while the others have answered long ago: its result says whether one of them did.
func silenceLimit(cluster bool, far time.Duration) time.Duration {
	if cluster {
		return silentAfter + nodeAnswerLimit + tripsLimit*far
	}
	return silentAfter + 2*far
}

// lateTick is how much later than planned a refresh comes on a busy machine. One that comes later shows
// that this process stood still: the kernel stopped it, or its container was throttled.
const lateTick = 250 * time.Millisecond

// silence measures how long the server has sent nothing while an order waits. The time in which this process stood still does not
// count, because an answer that came meanwhile lies unread in its socket. The zero value with every, the refresh, is ready to use.
type silence struct {
	every time.Duration // between two calls of lasts, as planned

	since  time.Time // what is measured from
	seen   time.Time // the latest call
	lasted time.Duration
}

// lasts returns the length of the silence at now. since is when the order was given, or later bytes
// came: another one begins another silence.
func (s *silence) lasts(now, since time.Time) time.Duration {
	if !since.Equal(s.since) {
		s.since, s.seen, s.lasted = since, since, 0
	}
	s.lasted += min(now.Sub(s.seen), s.every+lateTick)
	s.seen = now
	return s.lasted
}
