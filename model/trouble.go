package model

import (
	"cmp"
	"slices"
	"time"

	"ratescope/limiter"
)

// loss is limits that left the server although what was counted in them had not expired: after a restart
// without its data, a failover to an empty replica or a flush.
type loss struct {
	what   AlertKind       // Restarted, else Emptied
	at     limiter.Instant // when the first of them left, or the server was restarted; 0 for none
	last   limiter.Instant // when the last of them left
	held   map[string]bool // limits that counted something then, without those that were lost
	all    int             // how many there were
	lost   int             // how many of them left
	unread map[string]bool // limits that were not read since a restart that is not reported yet; nil without one
}

const (
	lossTogether = 10 * time.Second // limits that leave within this time of each other are one loss
	lossLasts    = time.Minute      // Forgotten tells of it: it is an event, not a state
	lifeLeft     = 2 * time.Second  // a limit that would have expired sooner is not lost

	// restartPatience is how long the report of a restart waits for limits that are not read. While no limit
	// was read at all, as of a server that does not answer, it waits longer: whether they were lost is unknown.
	restartPatience = 10 * time.Second
)

// counting returns the limits that, by what was last read of them, are still there at an instant and hold
// something that counts.
func (b *Board) counting(at limiter.Instant) map[string]bool {
	names := map[string]bool{}
	for name, k := range b.keys {
		if k.counts(at) {
			names[name] = true
		}
	}
	return names
}

func (k *Watched) counts(at limiter.Instant) bool {
	r := &k.Reading
	if k.Gone || r.Type == "none" || r.Err != "" || r.TTL > 0 && r.TTL-at.Sub(r.At) < lifeLeft {
		return false
	}
	used := r.Gauge(at).Used
	return !used.Known || used.N > 0
}

// lose counts the limits that a batch no longer has, before it is applied, and notes a restart, which a
// new run ID of the server shows.
func (b *Board) lose(batch *Batch) {
	s, at := &b.loss, max(batch.At, b.At)
	left := slices.Clone(batch.Gone)
	for i := range batch.Readings {
		if r := &batch.Readings[i]; r.Type == "none" && r.Err == "" {
			left = append(left, r.Key)
		}
	}
	left = slices.DeleteFunc(left, func(name string) bool { // what counted at a restart was lost in it, however late that is seen
		k := b.keys[name]
		return k == nil || !k.counts(at) && !s.unread[name]
	})
	was, is := b.Server.RunID, batch.Server.RunID
	restarted := was != "" && is != "" && was != is
	if (restarted || len(left) > 0) && s.unread == nil && (s.at == 0 || at.Sub(s.last) > lossTogether) {
		*s = loss{what: Emptied, at: at, last: at, held: b.counting(at)}
		s.all = len(s.held)
	}
	if restarted {
		s.what, s.unread = Restarted, b.counting(at)
	}
	lost := s.lost
	for _, name := range left {
		if s.held[name] {
			delete(s.held, name)
			s.lost, s.last = s.lost+1, at
		}
	}
	if s.what == Emptied && s.lost > max(lost, fewKeys) && 2*s.lost >= s.all {
		b.report(s.all)
	}
}

// report tells of the loss among so many limits, or corrects what was told of it.
func (b *Board) report(of int) {
	s := &b.loss
	a := Alert{At: s.at, What: s.what, N: int64(s.lost), Of: int64(of)}
	told := slices.IndexFunc(b.alerts, func(a Alert) bool { return a.At == s.at && (a.What == Emptied || a.What == Restarted) })
	if told >= 0 {
		b.alerts[told] = a
	} else {
		b.alert(a)
	}
}

// Forgotten returns how many limits were lost lately, and how many there were. Fewer than half are none:
// their owner deleted them.
func (b *Board) Forgotten(now limiter.Instant) (n, of int) {
	s := &b.loss
	if 2*s.lost < s.all || now.Sub(s.at) > lossLasts {
		return 0, s.all
	}
	return s.lost, s.all
}

// remember reports a restart once all limits are read, or some of them after restartPatience: the report
// is about those that were read.
func (b *Board) remember(batch *Batch) {
	s := &b.loss
	if s.unread == nil {
		return
	}
	for i := range batch.Readings {
		if r := &batch.Readings[i]; r.Err == "" && !r.Partial {
			delete(s.unread, r.Key)
		}
	}
	for _, name := range batch.Gone {
		delete(s.unread, name)
	}
	read := s.all - len(s.unread)
	if len(s.unread) > 0 && (read == 0 || b.At.Sub(s.at) < restartPatience) {
		return
	}
	b.report(read)
	s.unread = nil
}

// troubleOver is the pause after which the same trouble is a new episode.
const troubleOver = time.Minute

// troubling holds the error codes that raise an alert.
var troubling = map[string]bool{
	"OOM": true, "WRONGTYPE": true, "NOPERM": true, "READONLY": true, "MISCONF": true, "NOREPLICAS": true, "BUSY": true,
}

// notice raises alerts for error replies and evicted keys in a server's health. Further ones of
// the same episode are added to its alert.
func (b *Board) notice(h *Health) {
	if h.Over <= 0 {
		return
	}
	for _, e := range h.Errors {
		if n := int64(e.Rate*h.Over.Seconds() + 0.5); n > 0 && troubling[e.Name] {
			b.add(Alert{At: h.At, What: Erring, N: n, Text: e.Name})
		}
	}
	if n := int64(h.Evicted.V*h.Over.Seconds() + 0.5); h.Evicted.Known && n > 0 {
		b.add(Alert{At: h.At, What: Evicting, N: n})
	}
}

// add raises an alert about the server, or adds its number to the alert of the same episode.
func (b *Board) add(a Alert) {
	for i := len(b.alerts) - 1; i >= 0; i-- {
		t := &b.alerts[i]
		if t.What == a.What && t.Text == a.Text && a.At.Sub(t.At.Add(t.For)) < troubleOver {
			t.N += a.N
			t.For = a.At.Sub(t.At)
			return
		}
	}
	b.alert(a)
}

// nodes raises alerts for nodes of a cluster that stopped answering or answer again.
func (b *Board) nodes(batch *Batch) {
	if batch.Server.Link != Live {
		return
	}
	is := make(map[string]string, len(batch.Server.Away))
	for _, n := range batch.Server.Away {
		is[n.Addr] = n.Err
	}
	for _, n := range b.Server.Away {
		if _, away := is[n.Addr]; !away {
			b.alert(Alert{At: batch.At, What: NodeBack, Text: n.Addr})
		}
		delete(is, n.Addr)
	}
	for _, n := range batch.Server.Away {
		if text, fresh := is[n.Addr]; fresh {
			b.alert(Alert{At: batch.At, What: NodeLost, N: int64(n.Keys), Text: cmp.Or(text, n.Addr)})
		}
	}
}
