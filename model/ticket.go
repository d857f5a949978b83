package model

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
)

// TicketLasts is how long a Ticket is valid, because its forecast may be wrong later.
const TicketLasts = 30 * time.Second

// Ticket is the forecast of an order, for the case that no other client sends requests.
type Ticket struct {
	Order    Order
	Server   string          // as it is shown to the user
	Path     string          // how the requests reach the limiter, in words
	At       limiter.Instant // the server's clock at the forecast
	Issued   time.Time       // this machine's clock; the ticket is valid for TicketLasts from here
	Forecast Forecast
	Over     time.Duration // from the order to its last request; 0 if they are sent as fast as the answers come
	LastIn   time.Duration // until all requests are admitted, if denied ones are repeated; limiter.Never is never
	AsNew    time.Duration // from now until nothing is used any more
	Organic  Organic
	Keys     []string // keys that may be written to
	Commands []string // the commands, one of each kind
	Slot     int      // slot of the key in a cluster, 0 to 16383
	InSlot   int      // other watched keys in the same slot; negative if they were not counted

	// Was and Will are set for an order that changes its key, before and after the change. Of the
	// forecast only AsNew is set then.
	Was, Will Gauge
	Raise     *Raise // change of a limit that a library keeps in Redis; nil for none
	Unheeded  bool   // a block, where nothing says that the limiter looks for it
}

// Organic is the effect of an order on the requests of other clients.
type Organic struct {
	Known     bool
	PerSecond float64 // requests of other clients, over the last window
	Lost      int64   // requests of theirs that are denied because of the order
}

// Covers reports whether the ticket is of the order s: whether all that s does is what was shown. What only
// says who gave it, and for whom it is, may differ.
func (t *Ticket) Covers(s Order) bool {
	does := func(s Order) Order {
		s.ID, s.Hold, s.Ticket, s.Named, s.Reason = 0, nil, nil, "", ""
		return s
	}
	return reflect.DeepEqual(does(t.Order), does(s))
}

// Expired reports whether the ticket is no longer valid.
func (t *Ticket) Expired(now time.Time) bool { return now.Sub(t.Issued) >= TicketLasts }

// Left returns how long the ticket is still valid.
func (t *Ticket) Left(now time.Time) time.Duration {
	return min(max(TicketLasts-now.Sub(t.Issued), 0), TicketLasts)
}

// Ticket returns the forecast of an order at the key from now on. The caller fills in Server, Path,
// Issued, Keys, Commands and InSlot.
func (k *Watched) Ticket(s Order, now limiter.Instant) Ticket {
	r := k.Reading
	r.Target = s.Target
	if r.State.Algorithm == limiter.Unknown { // the key does not exist, and Aim has chosen an algorithm
		r.State.Algorithm = s.Target.Algorithm
	}
	t := Ticket{Order: s, At: now, Over: s.Lasts(), Slot: HashSlot(s.Key)}
	forecast, state := r.ForecastOrder(now, s)
	t.Forecast = forecast
	limit, _ := r.terms()
	t.AsNew = state.Peek(now, limit, s.Target.Convention, 0).ResetAfter
	if forecast.Admitted > 0 {
		t.AsNew = t.Over + state.Peek(now.Add(t.Over), limit, s.Target.Convention, 0).ResetAfter
	}
	t.LastIn = r.lastIn(now, limit, s)
	if s.Scratch { // other clients do not use the copy
		t.Organic.Known = true
		return t
	}
	if from := now.Add(-limit.Window); from >= k.Timeline.First() && k.Timeline.First() != 0 {
		charged := s.Target.Convention.Denied != convention.Free
		t.Organic = r.organic(now, limit, s, float64(k.others(from, now, charged))/limit.Window.Seconds(), max(t.AsNew, t.Over))
	}
	return t
}

// lastIn returns how long it takes until all requests of an order are admitted, if each denied
// request is repeated after its RetryAfter; limiter.Never if that does not happen.
func (r *Reading) lastIn(now limiter.Instant, limit limiter.Limit, s Order) time.Duration {
	state, at := r.State.Clone(), now
	for due := range s.Due() {
		at = max(at, now.Add(due))
		for {
			d := state.Take(at, limit, s.Target.Convention, s.Cost)
			if d.Allowed {
				break
			}
			if d.RetryAfter == limiter.Never || d.RetryAfter <= 0 || s.Target.Convention.Denied != convention.Free {
				return limiter.Never
			}
			at = at.Add(d.RetryAfter)
		}
	}
	return at.Sub(now)
}

// maxOrganic bounds the number of steps in which organic plays the requests of others.
const maxOrganic = 2000

// organic returns how many requests of other clients are denied because of an order, if they come
// evenly at perSecond for the time over.
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
	due := slices.Collect(s.Due())
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

// HashSlot returns the slot of a key in a Redis cluster: CRC-16 (XMODEM) of its hash tag, or of the
// whole key if it has none, by the cluster specification.
func HashSlot(key string) int {
	crc := uint16(0)
	for _, c := range []byte(layout.Tag(key)) {
		crc ^= uint16(c) << 8
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

// Nothing returns the start of the sentence that says why an order is not carried out.
func (s *Order) Nothing() string {
	return collect.If(s.Change.Kind != NoChange, "nothing is changed", "nothing is fired")
}

// Title returns what a change does to a key, in a few words.
func (c Change) Title() string {
	switch c.Kind {
	case Give:
		return fmt.Sprintf("give %d more", c.Units)
	case Free:
		return "free now"
	case Block:
		return "block for " + format.Span(c.For)
	}
	return "unblock"
}

// Title returns what an order does, without its key.
func (s *Order) Title() string {
	if s.Change.Kind != NoChange {
		return s.Change.Title()
	}
	what := "fire " + format.Plural(s.N, "request")
	switch {
	case s.N == 0:
		what = "fire " + format.PerSecond(s.Rate) + " until stopped"
	case s.Rate > 0:
		what += " at " + format.PerSecond(s.Rate)
	}
	if s.Shape.Kind != Even {
		what += ", " + s.Shape.String()
	}
	if s.Scratch {
		what += ", at a scratch copy"
	}
	if s.Cost > 1 {
		what += fmt.Sprintf(", cost %d each", s.Cost)
	}
	return what
}

// Words returns what a ticket says, each a word and a clause; name writes a key as the terminal may show it.
// waits stands for the commands as long as they are not known, and is "" then.
func (t *Ticket) Words(name func(key string) string, waits string) [][2]string {
	keys, commands := collect.Map(t.Keys, name), make([]string, len(t.Commands))
	for i, c := range t.Commands {
		if shown := name(t.Order.Key); shown != safetext.Clean(t.Order.Key) { // its middle is hidden
			c = strings.ReplaceAll(c, t.Order.Key, shown)
		}
		commands[i] = safetext.Clean(c)
	}
	sends := strings.Join(commands, "; ")
	switch {
	case waits != "":
		sends = waits
	case sends == "" && t.Order.Change.Kind == NoChange:
		sends = "nothing: a request would be denied now, and is not written"
	}
	way := [][2]string{{"path", t.Path + " to " + safetext.Clean(t.Server)}, {"sends", sends}, {"writes", strings.Join(keys, ", ")}}
	if t.Order.Change.Kind != NoChange {
		return t.changeWords(way)
	}
	lines := append(t.fate(), way...)
	slot := fmt.Sprint(t.Slot)
	if t.InSlot >= 0 {
		slot += ", with " + format.Plural(t.InSlot, "other watched key")
	}
	return append(lines, [2]string{"slot", slot}, [2]string{"server", t.At.Time().UTC().Format("2006-01-02 15:04:05.000 UTC")})
}

// fate returns the lines about what becomes of the requests, and of those of others.
func (t *Ticket) fate() [][2]string {
	fate := "not known"
	if f := t.Forecast; f.Known {
		fate = fmt.Sprintf("%d admitted, %d denied", f.Admitted, f.Denied)
		if f.Admitted > 0 {
			fate += ", " + format.Short(f.Remaining) + " left"
		}
	}
	if t.Order.N == 0 {
		fate = "in its first minute " + fate
	}
	last := "denied ones repeated, the last is admitted after " + format.Wait(t.LastIn)
	switch {
	case t.LastIn == limiter.Never:
		last = "the denied ones are never admitted"
	case t.LastIn == 0:
		last = "all are admitted at once"
	}
	others := "not watched for a whole window: not known"
	if at := t.Organic; at.Known {
		others = fmt.Sprintf("lose %d of their admissions, at %s now", at.Lost, format.PerSecond(at.PerSecond))
	}
	return [][2]string{{"will do", fate}, {"", last + " · the key is as new in " + format.Wait(t.AsNew)}, {"others", others}}
}

// changeWords returns the lines of the ticket of a change; way says how it reaches the key.
func (t *Ticket) changeWords(way [][2]string) (lines [][2]string) {
	undo := "ratescope undo, until another program has written"
	if t.Raise != nil {
		lines = append(lines, [2]string{"changes", t.Raise.String() + ", until its application sets it anew"})
		undo = "ratescope undo, until another program has set the limit; what is counted stays"
	}
	lines = append(append(lines, [2]string{"now", t.Was.clause()}, [2]string{"then", t.Will.clause()}), way...)
	lines = append(lines, [2]string{"undo", undo})
	if t.Unheeded {
		lines = append(lines, [2]string{"obeyed", "only by a limiter that was made with a Block; this key was never seen blocked"})
	}
	return lines
}

func (g *Gauge) clause() string {
	if !g.Whole() {
		return "not known"
	}
	text := fmt.Sprintf("%s used, room for %s", format.Short(g.Used.N), format.Short(g.Remaining.N))
	if g.Next > 0 {
		text += ", next admission in " + format.Wait(g.Next)
	}
	if g.AsNew() > 0 {
		text += ", as new in " + format.Wait(g.AsNew())
	}
	if g.BlockedFor > 0 {
		text += ", blocked for " + format.Span(g.BlockedFor)
	}
	return text
}

// Parts returns what was done to take an action back, as clauses.
func (t *TakenBack) Parts() (parts []string) {
	for _, p := range []struct {
		n    int
		what string
	}{{len(t.Restored), "as before"}, {len(t.Removed), "removed"}, {len(t.Expired), "expired already"}} {
		if p.n > 0 {
			parts = append(parts, format.Plural(p.n, "key")+" "+p.what)
		}
	}
	if t.Lowered != nil {
		parts = append(parts, t.Lowered.String()+", and what was counted since stays")
	}
	if t.Withdrawn {
		parts = append(parts, format.Plural(int(t.Units), "unit")+" taken off")
	}
	if n := len(t.Open); n == 1 {
		parts = append(parts, "whether "+t.Open[0]+" was counted is not known: look at the key with ratescope peek")
	} else if n > 1 {
		parts = append(parts, fmt.Sprintf("whether %d more were counted, from %s to %s, is not known: look at the key with ratescope peek",
			n, t.Open[0], t.Open[n-1]))
	}
	if len(parts) == 0 {
		parts = []string{"no key had changed"}
	}
	return parts
}
