package model

import (
	"cmp"
	"slices"
	"time"

	"ratescope/limiter"
)

// pressure says how close a key is to denying requests.
type pressure uint8

// The pressures, from calm to bad.
const (
	noPressure   pressure = iota
	pressureNear          // at or above NearLimit
	pressureFull          // a request of cost 1 would be denied
	pressureSick
)

// Alert is an event of a key or of the server.
type Alert struct {
	At   limiter.Instant
	Key  string // "" for an event of the server, or of several keys
	What AlertKind
	For  time.Duration // how long the episode lasted that has ended, to when the key was last throttled
	N    int64         // a number by kind: denied requests of an episode, or keys of a common event, 0 for the one Key
	Of   int64         // the total of which N is a part
	Text string        // the server's error, one sentence

	Pattern string        // a glob of the N keys of a common event; "" where it is not known
	First   [few]string   // the first of them, of keys that appeared or left
	Limit   limiter.Limit // of the Key that became throttled or near; zero where it is not known

	Ended, OnAndOff bool // of the Key that became throttled: its episode is over, and it was free in between
	Since           bool // of the Key that became throttled, or is free again: it was throttled when it was first read
}

// AlertKind is the kind of an Alert.
type AlertKind uint8

// The kinds.
const (
	BecameThrottled AlertKind = iota
	NoLongerThrottled
	BecameClose
	BecameUnreadable
	Appeared
	Left
	LinkLost
	LinkBack
	Restarted // the server was restarted, and has lost N of the Of limits that were read since
	Erring    // the server answered N times with the error code Text
	Evicting  // the server evicted N keys
	NodeLost  // a node of a cluster, with N keys, does not answer; Text says which
	NodeBack  // the node of a cluster with the address Text answers again
	Emptied   // at least N of Of limits left the server before they expired, as after FLUSHALL
)

const keepAlerts = 500

// Alerts returns the record, oldest first. It must not be changed.
func (b *Board) Alerts() []Alert { return b.alerts.record }

// Raised returns how many alerts there have been; the record holds the latest of them.
func (b *Board) Raised() int { return b.alerts.raised }

// alerts records what happens. The zero value is an empty record.
type alerts struct {
	record []Alert // oldest first
	raised int     // how many there have been
	moved  []Alert // of this batch, about keys that came, went, or changed their pressure
}

// raise adds an alert to the record.
func (l *alerts) raise(a Alert) {
	l.raised++
	l.record = append(l.record, a)
	if len(l.record) > keepAlerts {
		out := max(slices.IndexFunc(l.record, Alert.minor), 0)
		l.record = slices.Delete(l.record, out, out+1)
	}
}

// minor reports whether an alert is about keys that came or went. A full record drops the oldest
// minor alert first, so that these do not displace more important ones.
func (a Alert) minor() bool { return a.What == Appeared || a.What == Left }

// Events of several keys at the same time are joined in one alert: if more than fewKeys come or
// go, or more than fewPressed change their pressure, in one batch or within one wave.
const (
	few        = 3 // keys that a common event names
	fewKeys    = few
	fewPressed = 12
	wave       = 10 * time.Second
)

// move records the events of the batch of some kinds, one for each key, and joins those of a kind if there are more than most.
func (l *alerts) move(most int, kinds ...AlertKind) {
	for _, kind := range kinds {
		moved := slices.DeleteFunc(slices.Clone(l.moved), func(a Alert) bool { return a.What != kind })
		if len(moved) == 0 {
			continue
		}
		at, similar, sum := moved[0].At, len(moved), -1
		for i := len(l.record) - 1; i >= 0 && sum < 0; i-- {
			a := &l.record[i]
			if a.What != kind || at.Sub(a.At) >= wave || a.At.Sub(at) >= wave {
				continue
			}
			if similar++; a.Key == "" && a.N > 0 {
				sum = i
			}
		}
		switch {
		case sum >= 0:
			l.record[sum].N += int64(len(moved))
		case similar <= most:
			for _, a := range moved {
				l.raise(a)
			}
		default:
			a := Alert{At: at, What: kind, N: int64(len(moved))}
			for i := 0; a.minor() && i < min(len(moved), few); i++ {
				a.First[i] = moved[i].Key
			}
			l.raise(a)
		}
	}
}

func pressureOf(k *Watched) pressure {
	switch g := &k.Gauge; {
	case k.Reading.Err != "":
		return pressureSick
	case g.Throttled():
		return pressureFull
	case g.Near():
		return pressureNear
	}
	return noPressure
}

// episode follows a key's pressure. A key at its limit may admit and deny requests in turns many
// times a second, so that an episode ends only after its pressure has been lower for a while.
type episode struct {
	pressure pressure
	began    limiter.Instant
	again    limiter.Instant // since when the key has this pressure without a break; began at first
	last     limiter.Instant // when the key last had this pressure
	broken   bool            // the pressure is lower since then
	first    bool            // the key had this pressure when it was first read
	denied   int64           // denied requests since began
}

// judge updates a key's episode, and records its start or end.
func (l *alerts) judge(k *Watched, denied int64) {
	r, at, e, now := &k.Reading, k.Reading.At, &k.episode, pressureOf(k)
	e.denied += denied
	e.began, e.again, e.last = min(e.began, at), min(e.again, at), min(e.last, at) // the server's clock may have been set back
	switch {
	case now > e.pressure:
		l.end(k)
		*e = episode{pressure: now, began: at, again: at, last: at, denied: denied, first: r.Since == 0}
		kind := map[pressure]AlertKind{pressureNear: BecameClose, pressureFull: BecameThrottled, pressureSick: BecameUnreadable}[now]
		a := Alert{At: at, Key: r.Key, What: kind, Text: r.Err, Limit: r.Target.Limit, Since: e.first && now == pressureFull}
		if kind == BecameUnreadable {
			l.raise(a)
			break
		}
		l.moved = append(l.moved, a)
	case now == e.pressure:
		if e.broken {
			e.again = at
		}
		e.last, e.broken = at, false
	case at.Sub(e.last) >= k.grace():
		if e.pressure == pressureFull {
			l.moved = append(l.moved, Alert{At: at, Key: r.Key, What: NoLongerThrottled, For: e.last.Sub(e.began),
				N: e.denied, Since: e.first})
		}
		l.end(k)
		*e = episode{pressure: now, began: at, again: at, last: at}
	default:
		e.broken = true
	}
}

// grace is how long the key has lower pressure before its episode ends.
func (k *Watched) grace() time.Duration {
	return min(max(k.Reading.Target.Window/4, 2*time.Second), 15*time.Second)
}

// end ends the key's episode, and notes with the alert of its beginning how long the key was throttled.
func (l *alerts) end(k *Watched) {
	e := k.episode
	k.episode = episode{}
	if e.pressure != pressureFull {
		return
	}
	for i := len(l.record) - 1; i >= 0; i-- {
		if a := &l.record[i]; a.Key == k.Reading.Key && a.What == BecameThrottled {
			if !a.Ended {
				a.For, a.OnAndOff, a.Ended = e.last.Sub(e.began), e.again > e.began, true
			}
			return
		}
	}
}

// Throttled returns how long the key has been throttled in the episode that lasts, and since its last break; now is whether it still is.
func (k *Watched) Throttled(at limiter.Instant) (all, last time.Duration, now bool) {
	e, until := &k.episode, k.episode.last
	if now = e.pressure == pressureFull && k.State(at) == Throttled; now {
		until = at
	}
	return until.Sub(e.began), until.Sub(e.again), now
}

// SoFromTheFirst reports whether the key was as near its limit as it is since it was first read: when that began is not known.
func (k *Watched) SoFromTheFirst() bool { return k.episode.first }

// link records that the link to the server, which was so, was lost or is back. latest is the latest instant that is known.
func (l *alerts) link(was *Server, batch *Batch, latest limiter.Instant) {
	switch down := was.Link == Down; {
	case batch.Server.Link == Down && !down:
		l.raise(Alert{At: latest, What: LinkLost, Text: batch.Server.Err})
	case batch.Server.Link == Live && down:
		l.raise(Alert{At: batch.At, What: LinkBack, For: was.Down})
	}
}

// correct corrects the alert that told of a loss, or raises it; nil is none.
func (l *alerts) correct(a *Alert) {
	if a == nil {
		return
	}
	told := slices.IndexFunc(l.record, func(t Alert) bool { return t.At == a.At && (t.What == Emptied || t.What == Restarted) })
	if told >= 0 {
		l.record[told] = *a
	} else {
		l.raise(*a)
	}
}

// troubleOver is the pause after which the same trouble is a new episode.
const troubleOver = time.Minute

// troubling holds the error codes that raise an alert.
var troubling = map[string]bool{
	"OOM": true, "WRONGTYPE": true, "NOPERM": true, "READONLY": true, "MISCONF": true, "NOREPLICAS": true, "BUSY": true,
}

// notice raises alerts for error replies and evicted keys in a server's health. Further ones of the same episode are added to its alert.
func (l *alerts) notice(h *Health) {
	if h.Over <= 0 {
		return
	}
	for _, e := range h.Errors {
		if n := int64(e.Rate*h.Over.Seconds() + 0.5); n > 0 && troubling[e.Name] {
			l.join(Alert{At: h.At, What: Erring, N: n, Text: e.Name})
		}
	}
	if n := int64(h.Evicted.V*h.Over.Seconds() + 0.5); h.Evicted.Known && n > 0 {
		l.join(Alert{At: h.At, What: Evicting, N: n})
	}
}

// join raises an alert about the server, or adds its number to the alert of the same episode.
func (l *alerts) join(a Alert) {
	for i := len(l.record) - 1; i >= 0; i-- {
		t := &l.record[i]
		if t.What == a.What && t.Text == a.Text && a.At.Sub(t.At.Add(t.For)) < troubleOver {
			t.N += a.N
			t.For = a.At.Sub(t.At)
			return
		}
	}
	l.raise(a)
}

// nodes raises alerts for nodes of a cluster that stopped answering or, having been away, answer again.
func (l *alerts) nodes(was []Node, batch *Batch) {
	if batch.Server.Link != Live {
		return
	}
	is := make(map[string]string, len(batch.Server.Away))
	for _, n := range batch.Server.Away {
		is[n.Addr] = n.Err
	}
	for _, n := range was {
		if _, away := is[n.Addr]; !away {
			l.raise(Alert{At: batch.At, What: NodeBack, Text: n.Addr})
		}
		delete(is, n.Addr)
	}
	for _, n := range batch.Server.Away {
		if text, fresh := is[n.Addr]; fresh {
			l.raise(Alert{At: batch.At, What: NodeLost, N: int64(n.Keys), Text: cmp.Or(text, n.Addr)})
		}
	}
}
