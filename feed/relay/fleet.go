package relay

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

// Bounds of what one exporter may tell, beside those of package record.
const (
	maxKeys = 20_000  // twice what an exporter watches
	maxName = 4 << 10 // bytes of a key's name; one that is longer is counted and left out
	maxHot  = 64      // hot keys of all exporters together
)

// fleet puts together what several exporters tell of one server. It is pure: it asks nothing
// and has no clock. It belongs to one goroutine.
type fleet struct {
	members []*member
	owner   map[string]*member // of a key
	at      limiter.Instant    // the latest moment of the server's clock since it was set back
	begun   time.Time
	patient time.Duration // beside two refreshes of an exporter, before its silence counts
}

// member is one exporter.
type member struct {
	name string // its address, without a password

	up       bool
	err      error         // why it is not up; nil before the first attempt ended
	heard    time.Time     // when its latest batch came; zero before the first
	gap      time.Duration // between two batches, the longest of late; 0 unknown
	steady   bool          // the latest batch was not the first of its stream
	last     model.Batch   // without its readings
	keys     int           // that belong to it
	left     int           // keys beyond the bounds, of the latest stream
	offset   time.Duration
	measured int // batches that offset is of
}

func newFleet(names []string, now time.Time) *fleet {
	return &fleet{members: collect.Map(names, func(n string) *member { return &member{name: n} }), owner: make(map[string]*member),
		begun: now, patient: silentAfter}
}

// errOtherServer is of an exporter that watches another server than those before it.
var errOtherServer = errors.New("watches another server")

// take takes a batch of an exporter, which is the first of a stream or not, and returns what
// to report. An error is for an exporter that does not belong here.
func (f *fleet) take(now time.Time, i int, b model.Batch, first bool) (model.Batch, error) {
	m := f.members[i]
	for _, other := range f.members {
		if o := &other.last.Server; other != m && other.up && o.Target != b.Server.Target && (o.RunID == "" || o.RunID != b.Server.RunID) {
			return model.Batch{}, fmt.Errorf("%w, and %s watches %s: give each server a dashboard of its own", errOtherServer, other.name,
				o.Target)
		}
	}
	if m.up && !first && m.steady { // the first batch of a stream comes at once
		m.gap = max(now.Sub(m.heard), m.gap*9/10)
	}
	m.steady = !first
	m.up, m.err, m.heard = true, nil, now
	m.measure(now, b.At)
	out := model.Batch{Readings: f.readings(m, b.Readings, first)}
	out.Gone, out.LeftOut = f.gone(m, b.Gone), f.gone(m, b.LeftOut)
	if first {
		out.Gone = append(out.Gone, f.vanished(m, b.Readings)...)
		slices.Sort(out.Gone)
	}
	if m == f.leader() {
		out.Health = b.Health
	}
	out.HotKeys = b.HotKeys
	out.Cost = b.Cost
	b.Readings, b.Gone, b.LeftOut, b.Fired, b.Anew, b.Health = nil, nil, nil, nil, nil, nil
	b.HotKeys = cmp.Or(b.HotKeys, m.last.HotKeys)
	m.last = b
	if out.HotKeys != nil {
		out.HotKeys = f.hottest(out.HotKeys)
	}
	// The share that watching takes is the sum of what the exporters take.
	out.Cost.Over /= time.Duration(len(f.up()))
	f.describe(&out, now)
	return out, nil
}

// readings returns those that are within the bounds, and notes whose keys they are.
func (f *fleet) readings(m *member, list []model.Reading, first bool) []model.Reading {
	if first {
		m.left = 0
	}
	return slices.DeleteFunc(list, func(r model.Reading) bool {
		was := f.owner[r.Key]
		if len(r.Key) > maxName || was != m && m.keys >= maxKeys {
			m.left = min(m.left+1, maxKeys)
			return true
		}
		if was != m {
			if was != nil {
				was.keys--
			}
			f.owner[r.Key] = m
			m.keys++
		}
		return false
	})
}

// gone returns those of the names that belonged to m, which they do no more.
func (f *fleet) gone(m *member, names []string) []string {
	var list []string
	for _, name := range names {
		if f.owner[name] == m {
			delete(f.owner, name)
			m.keys--
			list = append(list, name)
		}
	}
	return list
}

// vanished returns the keys of m that the first batch of a stream does not tell of: they went
// while there was no stream.
func (f *fleet) vanished(m *member, told []model.Reading) []string {
	if m.keys == 0 {
		return nil
	}
	here := collect.Set(collect.Map(told, func(r model.Reading) string { return r.Key }))
	return f.gone(m, collect.Only(slices.Collect(maps.Keys(f.owner)), func(name string) bool { return f.owner[name] == m && !here[name] }))
}

// measure notes how far the server's clock is ahead of this machine's: a batch is always some
// way late, and the least late of many tells. A batch that is later by over a second says that the clock was set back.
func (m *member) measure(now time.Time, at limiter.Instant) {
	const keep = 300 // batches
	off := at.Sub(limiter.InstantOf(now))
	if m.measured++; m.measured == 1 || off > m.offset || off < m.offset-time.Second || m.measured > keep {
		m.offset, m.measured = off, 1
	}
}

// lost notes that there is no stream of an exporter, and reports whether that is news.
func (f *fleet) lost(i int, err error) (news bool) {
	m := f.members[i]
	news = m.up || m.err == nil || m.err.Error() != err.Error()
	m.up, m.err, m.steady = false, err, false
	return news
}

// silentAfter is for how long an exporter may say nothing, beside two of its refreshes, before
// it counts as away.
const silentAfter = 3 * time.Second

// slowest is the longest refresh that an exporter may have.
const slowest = time.Minute

// errSilent is of an exporter that holds the connection and says nothing.
var errSilent = errors.New("says nothing any more")

// silence marks the exporters that have said nothing for too long, and returns them.
func (f *fleet) silence(now time.Time) (list []int) {
	for i, m := range f.members {
		if m.up && now.Sub(m.heard) > f.patient+2*min(cmp.Or(m.gap, slowest), slowest) {
			f.lost(i, errSilent)
			list = append(list, i)
		}
	}
	return list
}

// report returns a batch without readings, for a moment at which nothing comes.
func (f *fleet) report(now time.Time) model.Batch {
	var b model.Batch
	f.describe(&b, now)
	return b
}

// up returns the exporters that are up.
func (f *fleet) up() []*member {
	return slices.DeleteFunc(slices.Clone(f.members), func(m *member) bool { return !m.up })
}

// leader returns the exporter whose word counts for the whole server: the first that is up and
// whose server answers, else the first that is up; nil where none is.
func (f *fleet) leader() *member {
	up := f.up()
	if len(up) == 0 {
		return nil
	}
	return up[max(slices.IndexFunc(up, func(m *member) bool { return m.last.Server.Link == model.Live }), 0)]
}

// describe fills in what is known of the server, and how much of it is missing.
func (f *fleet) describe(b *model.Batch, now time.Time) {
	b.Local = now
	lead := f.leader()
	if lead == nil {
		f.describeAway(b, now)
		return
	}
	b.Server = lead.last.Server
	s := &b.Server
	s.Embedded = false // of another process: nothing can be fired at it from here
	s.Target = f.target(s.Target)
	s.Lacks, s.Away = slices.Clone(s.Lacks), slices.Clone(s.Away)
	s.Offset, s.OffsetBy = lead.offset, 0
	b.Sweep = f.sweep()
	at := collect.Most(f.up(), func(m *member) limiter.Instant { return collect.If(m.last.Server.Link == model.Live, m.last.At, 0) })
	if at > f.at || at > 0 && at < f.at-2_500_000 { // the server's clock was set back
		f.at = at
	}
	for _, m := range f.members {
		if m.up {
			continue
		}
		text := fmt.Sprintf("%s: its keys are as they were last seen", m.failure())
		s.Away = append(s.Away, model.Node{Addr: m.name, Keys: m.keys, Err: text})
		s.Lacks = append(s.Lacks, text)
		b.Sweep.Missed++
	}
	b.At = f.at
	slices.Sort(s.Lacks)
}

// describeAway says that no exporter answers.
func (f *fleet) describeAway(b *model.Batch, now time.Time) {
	heard := time.Time{}
	for _, m := range f.members {
		if m.heard.After(heard) {
			heard, b.Server, b.Sweep = m.heard, m.last.Server, m.last.Sweep
		}
	}
	s := &b.Server
	s.Embedded, s.Lacks, s.Away = false, nil, nil
	s.Target = f.target(s.Target)
	s.Link, s.Err, s.Silent, s.Down = model.Connecting, "", false, now.Sub(f.begun)
	if !heard.IsZero() {
		s.Link, s.Down = model.Down, now.Sub(heard)
	}
	for _, m := range f.members {
		if m.err != nil {
			s.Err = m.failure()
			break
		}
	}
	b.At = f.at
}

// failure says in one sentence why an exporter is not up.
func (m *member) failure() string {
	if m.err == nil {
		return "the exporter " + m.name + " has not answered yet"
	}
	return fmt.Sprintf("the exporter %s %v", m.name, m.err)
}

// target names the server and where it is seen from.
func (f *fleet) target(server string) string {
	from := fmt.Sprintf("%d exporters", len(f.members))
	if len(f.members) == 1 {
		from = f.members[0].name
	}
	if server == "" {
		return from
	}
	return server + " by " + from
}

// sweep returns how far the search is: that of the exporter which has come least far, and the
// limiters of all.
func (f *fleet) sweep() (least model.Sweep) {
	matched, dropped, behind := 0, 0, 0
	for i, m := range f.up() {
		s := m.last.Sweep
		matched += max(s.Matched, 0)
		dropped += max(s.Dropped, 0) + m.left
		behind += s.Behind
		if i == 0 || cmp.Or(cmp.Compare(s.Passes, least.Passes), cmp.Compare(s.Seen(), least.Seen())) < 0 {
			least = s
		}
	}
	least.Matched, least.Dropped, least.Behind = matched, dropped, behind
	return least
}

// hottest puts the hot keys of all exporters together, of which each tells its own.
func (f *fleet) hottest(newest *model.HotKeys) *model.HotKeys {
	all := *newest
	all.Keys, all.Writes.V, all.Missed.V = nil, 0, 0
	for _, m := range f.up() {
		h := m.last.HotKeys
		if h == nil {
			continue
		}
		for _, k := range h.Keys {
			if f.owner[k.Key] == nil || f.owner[k.Key] == m {
				all.Keys = append(all.Keys, k)
			}
		}
		all.Writes.V += h.Writes.V
		all.Missed.V = max(all.Missed.V, h.Missed.V)
	}
	slices.SortStableFunc(all.Keys, func(x, y model.HotKey) int { return cmp.Compare(y.Writes.V, x.Writes.V) })
	all.Keys = all.Keys[:min(len(all.Keys), maxHot)]
	return &all
}
