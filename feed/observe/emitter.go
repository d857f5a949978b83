package observe

import (
	"time"

	"ratescope/feed/connect"
	"ratescope/feed/pace"
	"ratescope/limiter"
	"ratescope/model"
)

// emitter keeps the state of the link and builds batches.
type emitter struct {
	*Watch
	emit func(model.Batch)

	begun   time.Time
	link    model.Link
	err     string
	since   time.Time // of the last answer
	retry   time.Time // no attempt before
	backoff pace.Backoff
	sent    time.Time
	cost    model.Cost
	at      limiter.Instant
	last    outcome // of the last round that was answered
}

// take takes the outcome of a round and emits what it brought.
func (e *emitter) take(o outcome) {
	e.cost.Commands += o.commands
	e.cost.Server += o.cost
	if o.err == nil || len(o.readings) > 0 {
		e.link, e.err, e.since = model.Live, "", time.Now()
		e.last = o
		e.live.Store(true)
		if o.kind == full || len(o.readings) > 0 || o.err != nil {
			e.send(o.readings, o.gone)
		}
	}
	if o.err != nil {
		was := e.link
		e.lost(o.err)
		e.retry = time.Now().Add(e.backoff.Next())
		if was == model.Live || e.sent.IsZero() {
			e.send(nil, nil)
		}
		return
	}
	e.retry, e.backoff = time.Time{}, pace.Backoff{}
}

// lost notes that the server is away.
func (e *emitter) lost(err error) {
	if e.link == model.Live {
		e.link = model.Down
	}
	e.live.Store(false)
	if err == errSlow && e.err != "" {
		return
	}
	e.err = connect.Explain(err, e.server.Target)
}

// send emits a batch.
func (e *emitter) send(readings []model.Reading, gone []string) {
	now := time.Now()
	b := model.Batch{Local: now, Readings: readings, Gone: gone, Server: e.server}
	s := &b.Server
	s.Link, s.Err = e.link, e.err
	s.RTT, s.Offset, s.Role, s.Version = e.last.rtt, e.last.offset, e.last.role, e.last.version
	s.OffsetBy = e.last.offsetBy
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
	s.Lacks = e.last.lacks
	b.Health, e.last.health = e.last.health, nil
	b.Hot, b.LeftOut = e.last.hot, e.last.leftOut
	e.last.hot, e.last.leftOut = nil, nil
	if b.Sweep = e.last.sweep; b.Sweep.Patterns == nil {
		b.Sweep.Patterns = e.scout.Patterns
	}
	if !e.sent.IsZero() {
		e.cost.Over = now.Sub(e.sent)
	}
	e.sent = now
	b.Cost, e.cost = e.cost, model.Cost{}
	e.emit(b)
}
