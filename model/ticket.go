package model

import (
	"math"
	"time"

	"ratescope/limiter"
)

// TicketLasts is how long a Ticket holds: after that what it says may be wrong.
const TicketLasts = 30 * time.Second

// Ticket forecasts what an order will do, if no other client sends a request meanwhile.
type Ticket struct {
	Order    Order
	Server   string          // as the user may see it
	Path     string          // how the requests reach the limiter, in words
	At       limiter.Instant // server clock of the forecast
	Issued   time.Time       // this machine's clock; the ticket holds for TicketLasts from then on
	Forecast Forecast
	Over     time.Duration // from the first request to the last; 0 as fast as the answers come
	LastIn   time.Duration // until all of them would be in, if the denied ones came again; limiter.Never never
	AsNew    time.Duration // until the key is as new, from now
	Organic  Organic
	Keys     []string // that may be written to
	Commands []string // as they are sent, one for each kind
	Slot     int      // of the key in a cluster, 0 to 16383
	InSlot   int      // how many other watched keys share it

	// Of an order that changes the key: how it stands now, and how it will stand. Of the rest
	// AsNew alone is worked out for such an order.
	Was, Will Standing
	Raise     *Raise // of a limit that a library keeps in Redis; nil where none is changed
}

// Organic is what an order takes from the requests of others.
type Organic struct {
	Known     bool
	PerSecond float64 // requests of others, over the last window
	Lost      int64   // of them, how many are denied that would be admitted without the order
}

// Expired says that the ticket holds no more.
func (t *Ticket) Expired(now time.Time) bool { return now.Sub(t.Issued) >= TicketLasts }

// Left returns how long the ticket holds.
func (t *Ticket) Left(now time.Time) time.Duration {
	return min(max(TicketLasts-now.Sub(t.Issued), 0), TicketLasts)
}

// Ticket works out what an order at the key will do from the instant now on. The caller fills in
// where and when it was issued, and the commands.
func (k *Watched) Ticket(s Order, now limiter.Instant) Ticket {
	r := k.Reading
	r.Target = s.Target
	if r.State.Algorithm == limiter.Unknown { // a key that does not exist, for which Aim has chosen
		r.State.Algorithm = s.Target.Algorithm
	}
	t := Ticket{Order: s, At: now, Over: s.Lasts(), Slot: HashSlot(s.Key)}
	t.Forecast = r.ForecastOrder(now, s)
	limit := s.Target.Limit
	limit.Window = s.Target.Window
	state := r.State.Clone()
	admitted := play(&state, now, limit, s)
	t.AsNew = state.Peek(now, limit, s.Target.Convention, 0).ResetAfter
	if admitted > 0 {
		t.AsNew = t.Over + state.Peek(now.Add(t.Over), limit, s.Target.Convention, 0).ResetAfter
	}
	t.LastIn = r.lastIn(now, limit, s)
	if s.Scratch { // no request of others meets the copy
		t.Organic.Known = true
		return t
	}
	if from := now.Add(-limit.Window); from >= k.Timeline.First() && k.Timeline.First() != 0 {
		b := k.Timeline.Between(from, now)
		own := int64(b.InjectedAdmitted) + int64(b.InjectedDenied)
		t.Organic = r.organic(now, limit, s, float64(max(b.Admitted+b.Denied-own, 0))/limit.Window.Seconds(), max(t.AsNew, t.Over))
	}
	return t
}

// play charges the requests of an order to a state, when they are due, and returns how many were
// admitted.
func play(state *limiter.State, now limiter.Instant, limit limiter.Limit, s Order) (admitted int) {
	for due := range s.Due() {
		if state.Take(now.Add(due), limit, s.Target.Convention, s.Cost).Allowed {
			admitted++
		}
	}
	return admitted
}

// lastIn returns how long it takes until all requests of an order are in, where each one that is
// denied is sent again at the moment that its answer names.
func (r *Reading) lastIn(now limiter.Instant, limit limiter.Limit, s Order) time.Duration {
	state, at := r.State.Clone(), now
	for due := range s.Due() {
		at = max(at, now.Add(due))
		for {
			d := state.Take(at, limit, s.Target.Convention, s.Cost)
			if d.Allowed {
				break
			}
			if d.RetryAfter == limiter.Never || d.RetryAfter <= 0 || s.Target.Convention.Denied != limiter.DeniedFree {
				return limiter.Never
			}
			at = at.Add(d.RetryAfter)
		}
	}
	return at.Sub(now)
}

// maxOrganic bounds how many steps the requests of others are worked out in.
const maxOrganic = 2000

// organic works out how many requests of others an order pushes out, where they come evenly at
// the rate of the last window, until the key is as new.
func (r *Reading) organic(now limiter.Instant, limit limiter.Limit, s Order, perSecond float64, over time.Duration) Organic {
	o := Organic{Known: true, PerSecond: perSecond}
	total := perSecond * min(over, math.MaxInt64/2).Seconds()
	if total < 1 {
		return o
	}
	steps := int(min(total, maxOrganic))
	each := int64(math.Ceil(total / float64(steps)))
	without, with := r.State.Clone(), r.State.Clone()
	c := s.Target.Convention
	var due []time.Duration
	for d := range s.Due() {
		due = append(due, d)
	}
	for i := range steps {
		at := time.Duration((float64(i) + 0.5) * float64(over) / float64(steps))
		for len(due) > 0 && due[0] <= at {
			with.Take(now.Add(due[0]), limit, c, s.Cost)
			due = due[1:]
		}
		o.Lost += fit(&without, now.Add(at), limit, c, each) - fit(&with, now.Add(at), limit, c, each)
	}
	o.Lost = max(o.Lost, 0)
	return o
}

// HashSlot returns the slot of a key in a Redis cluster: CRC-16 (XMODEM) of its hash tag, or of
// all of it where it has none, as in the cluster specification.
func HashSlot(key string) int {
	for i := range len(key) {
		if key[i] != '{' {
			continue
		}
		for j := i + 1; j < len(key); j++ {
			if key[j] == '}' {
				if j > i+1 {
					key = key[i+1 : j]
				}
				break
			}
		}
		break
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % 16384)
}
