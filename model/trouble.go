package model

import (
	"cmp"
	"fmt"
	"time"

	"ratescope/limiter"
)

// restart finds out which limits a restarted server has lost.
type restart struct {
	at   limiter.Instant // of the restart; 0 if there was none, or it was reported
	held map[string]bool // limits that were in use before, and were not read since
	all  int             // limits that were in use before
	lost int             // limits that no longer exist
}

// restartPatience is how long the report of a restart waits for limits that are not read. While no limit
// was read at all, as of a server that does not answer, it waits longer: whether they were lost is unknown.
const restartPatience = 10 * time.Second

// restarted notes a restart, which a new run ID of the server shows.
func (b *Board) restarted(batch *Batch) {
	was, is := b.Server.RunID, batch.Server.RunID
	if was == "" || is == "" || was == is {
		return
	}
	at := max(batch.At, b.At)
	b.restart = restart{at: at, held: make(map[string]bool)}
	for name, k := range b.keys {
		r := &k.Reading
		expired := r.TTL != Forever && r.TTL > 0 && r.At.Add(r.TTL) <= at
		if k.Gone || r.Type == "none" || r.Err != "" || expired || r.Gauge(at).Used.N == 0 {
			continue
		}
		b.restart.held[name] = true
	}
	b.restart.all = len(b.restart.held)
}

// remember counts the limits that were lost in a restart, and reports the restart once all limits
// are read, or some of them after restartPatience: the report is about those that were read.
func (b *Board) remember(batch *Batch) {
	s := &b.restart
	if s.at == 0 {
		return
	}
	for i := range batch.Readings {
		if r := &batch.Readings[i]; s.held[r.Key] && r.Err == "" && !r.Partial {
			delete(s.held, r.Key)
			if r.Type == "none" {
				s.lost++
			}
		}
	}
	for _, name := range batch.Gone {
		if s.held[name] {
			delete(s.held, name)
			s.lost++
		}
	}
	read := s.all - len(s.held)
	if len(s.held) > 0 && (read == 0 || b.At.Sub(s.at) < restartPatience) {
		return
	}
	b.alert(Alert{At: s.at, What: Restarted, N: int64(s.lost), Of: int64(read)})
	*s = restart{}
}

// trouble is an episode in which the server answered with one kind of error, or evicted keys.
type trouble struct {
	last  limiter.Instant // when this last happened
	place int             // number of its alert among all alerts raised
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
	if b.troubles == nil {
		b.troubles = make(map[string]trouble)
	}
	name := fmt.Sprint(a.What, a.Text)
	t, known := b.troubles[name]
	if i := len(b.alerts) - (b.raised - t.place); known && a.At.Sub(t.last) < troubleOver && i >= 0 && i < len(b.alerts) && b.alerts[i].What == a.What {
		b.alerts[i].N += a.N
		b.alerts[i].For = a.At.Sub(b.alerts[i].At)
		b.troubles[name] = trouble{a.At, t.place}
		return
	}
	b.troubles[name] = trouble{a.At, b.raised}
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
