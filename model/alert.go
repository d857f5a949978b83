package model

import (
	"cmp"
	"slices"
	"time"

	"ratescope/limiter"
)

// Pressure is how pressing a key is.
type Pressure uint8

// The pressures, from calm to bad.
const (
	NoPressure Pressure = iota
	Close               // at or above NearLimit
	Throttling          // a request of cost 1 would be denied
	Unreadable
)

// Alert is something that happened to a key or to the server, for the record.
type Alert struct {
	At   limiter.Instant
	Key  string // "" for the server itself, and for many keys at once
	What AlertKind
	For  time.Duration // how long what ended had lasted
	N    int64         // what the kind counts: denied requests of an episode; keys that did the same together, 0 for the one Key
	Of   int64         // how many there were, where N are some of them
	Text string        // the server's trouble, one sentence
}

// AlertKind says what an Alert is about.
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
	Restarted // the server lost N of the Of limits that it held
	Erring    // the server answered N times with the error that Text names
	Evicting  // the server evicted N keys
	NodeLost  // a node of a cluster, with N keys, does not answer; Text says which
	NodeBack  // Text is its address
)

// keepAlerts bounds the record.
const keepAlerts = 500

// Alerts returns the record, oldest first. It must not be changed.
func (b *Board) Alerts() []Alert { return b.alerts }

// Raised returns how many alerts there ever were; the record holds the last of them.
func (b *Board) Raised() int { return b.raised }

func (b *Board) alert(a Alert) {
	b.raised++
	b.alerts = append(b.alerts, a)
	if len(b.alerts) > keepAlerts {
		out := max(slices.IndexFunc(b.alerts, Alert.minor), 0)
		b.alerts = slices.Delete(b.alerts, out, out+1)
	}
}

// minor says whether a is about keys that came or went: of those the record drops the
// oldest first, so that they push out nothing that is pressing.
func (a Alert) minor() bool { return a.What == Appeared || a.What == Left }

// Keys that come or go together, or are pressed together, are told in one alert: more than
// a few in a batch, or the ones after a few within one wave.
const (
	fewKeys    = 3
	fewPressed = 12
	wave       = 10 * time.Second
)

// move records that keys came or went; moved has one alert for each.
func (b *Board) move(moved []Alert, few int) {
	if len(moved) == 0 {
		return
	}
	first := moved[0]
	similar, sum := len(moved), -1
	for i := len(b.alerts) - 1; i >= 0; i-- {
		a := &b.alerts[i]
		if a.What != first.What || first.At.Sub(a.At) >= wave || a.At.Sub(first.At) >= wave {
			continue
		}
		if similar++; a.Key == "" && a.N > 0 {
			sum = i
			break
		}
	}
	switch {
	case sum >= 0:
		b.alerts[sum].N += int64(len(moved))
	case similar <= few:
		for _, a := range moved {
			b.alert(a)
		}
	default:
		b.alert(Alert{At: first.At, What: first.What, N: int64(len(moved))})
	}
}

// order sorts the newest n alerts by time: the readings of one batch come by key. Those
// before them stay where they are, for they may have been told already.
func (b *Board) order(n int) {
	newest := b.alerts[len(b.alerts)-min(n, len(b.alerts)):]
	slices.SortStableFunc(newest, func(x, y Alert) int { return cmp.Compare(x.At, y.At) })
}

// pressureOf says how pressing k is right now.
func pressureOf(k *Watched) Pressure {
	switch g := &k.Gauge; {
	case k.Reading.Err != "":
		return Unreadable
	case g.Throttled():
		return Throttling
	case g.Near():
		return Close
	}
	return NoPressure
}

// episode follows a key's pressure. A key at its limit frees a slot and loses it many
// times a second, so an episode of throttling ends only after it was over for a while.
type episode struct {
	pressure Pressure
	began    limiter.Instant
	last     limiter.Instant // when it was last as bad as pressure says
	denied   int64
}

// Pressure is how pressing k has been of late: an episode ends only after it was over for a
// while, so that a key at its limit does not change its place with every slot that frees.
func (k *Watched) Pressure() Pressure { return k.episode.pressure }

// patience is how long a key must be better before its episode is over.
func patience(k *Watched) time.Duration {
	return min(max(k.Reading.Target.Window/4, 2*time.Second), 15*time.Second)
}

// judge brings a key's episode forward and records where one begins or ends.
func (b *Board) judge(k *Watched, denied int64) {
	at, e, now := k.Reading.At, &k.episode, pressureOf(k)
	e.denied += denied
	e.began, e.last = min(e.began, at), min(e.last, at) // the server's clock may have been set back
	switch {
	case now > e.pressure:
		*e = episode{pressure: now, began: at, last: at, denied: denied}
		kind := map[Pressure]AlertKind{Close: BecameClose, Throttling: BecameThrottled, Unreadable: BecameUnreadable}[now]
		a := Alert{At: at, Key: k.Reading.Key, What: kind, Text: k.Reading.Err}
		if kind == BecameUnreadable {
			b.alert(a)
			break
		}
		b.pressed = append(b.pressed, a)
	case now == e.pressure:
		e.last = at
	case at.Sub(e.last) >= patience(k):
		if e.pressure == Throttling {
			b.pressed = append(b.pressed, Alert{At: at, Key: k.Reading.Key, What: NoLongerThrottled, For: e.last.Sub(e.began), N: e.denied})
		}
		*e = episode{pressure: now, began: at, last: at}
	}
}

// link records that the server went away or came back.
func (b *Board) link(batch *Batch) {
	down, was := batch.Server.Link == Down, b.Server.Link == Down
	switch {
	case down && !was:
		b.alert(Alert{At: max(b.At, batch.At), What: LinkLost, Text: batch.Server.Err})
	case was && batch.Server.Link == Live:
		b.alert(Alert{At: batch.At, What: LinkBack, For: b.Server.Down})
	}
}
