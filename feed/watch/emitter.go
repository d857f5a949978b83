package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/push"

	"ratescope/feed/connect"
	"ratescope/feed/watch/hotkeys"
	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/handoff"
)

// result is the reader's answer to one order.
type result struct {
	kind  orderKind
	batch model.Batch   // the readings, and what the reader knows of the server after them
	err   error         // the server is away; the readings came before
	heard time.Time     // when bytes last came from the server; zero if none came since it was last connected to
	bound time.Duration // clock.bound
	idle  bool          // nothing is written, and the next write will be announced
	seen  int64         // announcements.writes
}

// emitter builds the batches and keeps the state of the link. It belongs to the goroutine of Watch.Run.
type emitter struct {
	emit   func(model.Batch)
	server model.Server // the fields that never change
	begun  time.Time    // start of the session

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
	e.cost.Add(r.batch.Cost)
	if b := &r.batch; r.err == nil || len(b.Readings) > 0 {
		if b.Server.Offset < e.last.batch.Server.Offset-clockSet { // the server's clock was set back, and it rules
			e.at = 0
		}
		e.link, e.err, e.quiet, e.cut, e.since = model.Live, "", false, time.Time{}, now
		e.last = r
		if r.kind == orderFull || len(b.Readings) > 0 || r.err != nil {
			e.send(now, b.Readings, b.Gone)
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

// waits emits a batch while an order, given at since, is carried out. After behindAfter the latest result does not say any more what was
// written: as many limiters count as behind as writes were announced, and all where announcements.writes are not known.
func (e *emitter) waits(now, since time.Time, writes func() (int64, bool)) {
	n, known := writes()
	switch s := &e.last.batch.Sweep; {
	case now.Sub(since) <= behindAfter || e.server.Embedded:
	case known:
		s.Behind = int(min(int64(s.Behind)+n-e.last.seen, int64(s.Matched)))
		e.last.seen = n
	default:
		s.Behind = s.Matched
	}
	e.send(now, nil, nil)
}

// send emits a batch with the readings, the names of the limiters that are gone, and the state of the link.
func (e *emitter) send(now time.Time, readings []model.Reading, gone []string) {
	last := &e.last.batch
	b := *last
	last.Health, last.HotKeys, last.LeftOut = nil, nil, nil // which are told once
	b.Local, b.Readings, b.Gone = now, readings, gone
	s := &b.Server
	s.Target, s.DB, s.Embedded, s.Link, s.Err, s.Silent = e.server.Target, e.server.DB, e.server.Embedded, e.link, e.err, e.quiet
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

// announcements tells of every write while there are few, so that only keys that were written need to be read. The server
// announces a write with an invalidation message (CLIENT TRACKING with BCAST, Redis 6 and later) on a connection of
// its own: while nothing happens neither side does any work, and a request is seen at once.
// Where there are many writes the connection is closed for a while. An announcement causes keys to be read; it is not
// counted as a request. The methods are safe for concurrent use. Without a client it never listens.
type announcements struct {
	client  *redis.Client  // with tracking on for all of its connections; nil for none
	most    int64          // writes a second beyond which it does not listen
	written handoff.Signal // tells the session that something was written after a pause
	busy    handoff.Signal // tells listen to look whether it is to end

	seen        atomic.Int64 // writes, and starts of listening
	events      atomic.Int64 // writes since the last call of cost
	trips       atomic.Int64 // round trips since the last call of cost
	unannounced atomic.Int64 // consecutive writes that were found without an announcement
	proved      atomic.Int64 // when the latest ping was answered, or listening began, in nanoseconds since made
	made        time.Time    // no wall clock, which may be set back, says how old a proof is

	mu     sync.Mutex
	keys   map[string]int // that were written since the last call of take, with how often; flushed where a database was emptied
	since  time.Time      // since when every write is announced; zero while it does not listen
	latest time.Time      // when the latest write was announced
}

const (
	listenRest   = 500 * time.Millisecond // pause before it listens again
	listenBusy   = 5 * time.Second        // likewise, where there were many writes
	listenPing   = 3 * time.Second        // interval of pings; an answer proves that all writes before the ping were announced
	listenProof  = 2 * listenPing         // time for which an answer counts
	listenSilent = 5 * listenPing         // time without an answer after which the connection is made anew
	listenMissed = 3                      // missing announcements after which it stops for refusedFor
	listenTrips  = 6                      // round trips that set up a connection
	idleAfter    = 2 * time.Second        // time without a write after which the server is idle
	listenShare  = 0.5                    // of the budget goes to announcements at most
	eventPrice   = 2 * time.Microsecond   // server time of one announcement, Redis 7.0
	flushed      = ""                     // stands for all keys
)

// newAnnouncements prepares to listen over a client with tracking on, within a budget; nil is for none.
func newAnnouncements(c redis.UniversalClient, budget float64) *announcements {
	f := &announcements{most: int64(listenShare * budget / eventPrice.Seconds()), written: handoff.NewSignal(), busy: handoff.NewSignal(),
		keys: make(map[string]int), made: time.Now()}
	f.client, _ = c.(*redis.Client)
	if f.client == nil || f.client.RegisterPushNotificationHandler(hotkeys.Pushed, f, false) != nil {
		f.client = nil
	}
	return f
}

// writes returns a number that stays the same as long as nothing is written; known is false where that is not proved.
func (f *announcements) writes() (n int64, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen.Load(), !f.listening().IsZero()
}

// listening returns since when every write is announced; zero where that is not so, or not proved.
func (f *announcements) listening() time.Time {
	if time.Since(f.made)-time.Duration(f.proved.Load()) > listenProof {
		return time.Time{}
	}
	return f.since
}

// take returns the keys that were written since the previous call, as far as it was listening, since when every
// write is announced, zero where that is not so, and when the latest one was.
func (f *announcements) take() (keys map[string]int, since, latest time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	keys, f.keys = f.keys, make(map[string]int)
	return keys, f.listening(), f.latest
}

// listens notes since when every write is announced.
func (f *announcements) listens(since time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.since = since
}

// missed notes a write that should have been announced and was not.
func (f *announcements) missed() {
	f.unannounced.Add(1)
	f.busy.Send()
}

// cost returns the server time that it took since the previous call; trip is the server time of one round trip.
func (f *announcements) cost(trip time.Duration) time.Duration {
	return time.Duration(f.events.Swap(0))*eventPrice + time.Duration(f.trips.Swap(0))*trip
}

// HandlePushNotification implements push.NotificationHandler. A message has a name and the
// list of keys, or nil when a database was emptied.
func (f *announcements) HandlePushNotification(_ context.Context, _ push.NotificationHandlerContext, pushed []any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, now := int64(1), time.Now()
	if keys, ok := pushed[len(pushed)-1].([]any); ok {
		n = int64(len(keys))
		for _, k := range keys {
			name, _ := k.(string)
			f.keys[name]++
		}
	} else if f.keys[flushed]++; !f.since.IsZero() {
		f.since = now
	}
	f.events.Add(n)
	f.unannounced.Store(0)
	if most := max(f.most, 1); (f.seen.Add(n)-n)/most < f.seen.Load()/most {
		f.busy.Send()
	}
	if now.Sub(f.latest) > quickEvery {
		f.written.Send()
	}
	f.latest = now
	return nil
}

// run listens until ctx ends, while the server answers.
func (f *announcements) run(ctx context.Context, live func() bool) {
	for f.client != nil {
		rest := listenRest
		if live() {
			err := f.listen(ctx)
			switch {
			case err == nil:
				rest = listenBusy
			case !connect.Away(err) || f.unannounced.Load() >= listenMissed:
				f.unannounced.Store(0)
				rest = refusedFor // listening is not permitted, or writes are not announced
			}
		}
		if goroutine.Sleep(ctx, rest) != nil {
			return
		}
	}
}

// errUnannounced ends listening where writes are not announced, errUnanswered where pings are not answered.
var errUnannounced, errUnanswered = errors.New("writes are not announced"), errors.New("pings are not answered")

// listen listens until there are too many writes in a second, writes go unannounced, or ctx ends. It fails when
// the server refuses, or the connection breaks or is silent.
func (f *announcements) listen(ctx context.Context) error {
	f.trips.Add(listenTrips)
	p := f.client.Subscribe(ctx)
	err := p.Subscribe(ctx, hotkeys.Channel)
	if err == nil {
		_, err = p.ReceiveTimeout(ctx, connect.Timeout)
	}
	if err != nil {
		p.Close()
		return err
	}
	f.seen.Add(1)
	f.proved.Store(int64(time.Since(f.made)))
	f.listens(time.Now())
	defer f.listens(time.Time{})
	ended := make(chan error, 1)
	var listening sync.WaitGroup
	listening.Go(func() {
		ended <- goroutine.Call(func() error {
			for {
				m, err := p.ReceiveTimeout(ctx, 0)
				if err != nil {
					return err
				}
				if _, ok := m.(*redis.Pong); ok {
					f.proved.Store(int64(time.Since(f.made)))
				}
			}
		})
	})
	defer listening.Wait()
	defer p.Close()
	alive := time.NewTicker(listenPing)
	defer alive.Stop()
	for from, begun := f.seen.Load(), time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-f.busy:
			n, now := f.seen.Load(), time.Now()
			switch over := now.Sub(begun); {
			case f.unannounced.Load() >= listenMissed:
				return errUnannounced
			case float64(n-from) > float64(f.most)*over.Seconds() && n-from >= f.most:
				return nil
			}
			from, begun = n, now
		case <-alive.C:
			if time.Since(f.made)-time.Duration(f.proved.Load()) > listenSilent {
				return errUnanswered
			}
			f.trips.Add(1)
			if err := p.Ping(ctx); err != nil {
				return err
			}
		}
	}
}
