package notify

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"ratescope/model/handoff"
	"ratescope/model/report"
)

// line is the alerts of one rule that are to be delivered. It is not safe for concurrent use.
type line struct {
	commands chan report.Alert
	ran      map[string]bool // keys for whose beginning the command was run, so that it is for their end, too
	began    time.Time       // of the minute
	n        int             // that began in it
	told     bool            // that the command is not run for some of them

	groups []*group          // the oldest first
	wake   handoff.Signal    // there is a group to look at
	open   map[string]string // of each alert whose beginning was sent, by its Dedup: the Dedup under which it was
}

// group is what begins or ends together at one server.
type group struct {
	alerts []report.Alert
	in     map[string]bool // by Dedup
	due    time.Time
}

func newLine() *line {
	return &line{commands: make(chan report.Alert, mostHeld), ran: map[string]bool{}, wake: handoff.NewSignal(), open: map[string]string{}}
}

// join adds an alert to a group that waits, or begins one.
func (l *line) join(a report.Alert, now time.Time) {
	var fits *group
	for _, g := range l.groups {
		switch first := &g.alerts[0]; {
		case g.in[a.Dedup]: // it has changed again: what it was before is sent before it
			for _, g := range l.groups {
				g.due = now
			}
			fits = nil
		case first.State == a.State && first.Server == a.Server && g.due.After(now):
			fits = g
		}
	}
	if fits == nil || !fits.due.After(now) {
		fits = &group{in: map[string]bool{}, due: now.Add(together)}
		l.groups = append(l.groups, fits)
	}
	fits.alerts = append(fits.alerts, a)
	fits.in[a.Dedup] = true
	l.wake.Send()
}

// due takes the first group that is due, or that there is where closing says so; else it returns how long
// there will be none.
func (l *line) due(now time.Time, closing bool) (*group, time.Duration) {
	wait := together
	for i, g := range l.groups {
		if closing || !g.due.After(now) {
			l.groups = slices.Delete(l.groups, i, i+1)
			return g, 0
		}
		wait = min(wait, g.due.Sub(now))
	}
	return nil, wait
}

// posts returns the posts about a group. That is one for what begins, and one for what ends, unless it began
// in several: each of these ends as well, when the last of its keys does. It belongs to one goroutine.
func (l *line) posts(g *group) []report.Alert {
	if g.alerts[0].State == report.Firing {
		post := report.Joined(g.alerts)
		for id := range g.in {
			l.open[id] = post.Dedup
		}
		return []report.Alert{post}
	}
	ends := map[string][]report.Alert{} // by the Dedup under which they began
	for _, a := range g.alerts {
		if under, began := l.open[a.Dedup]; began {
			ends[under] = append(ends[under], a)
			delete(l.open, a.Dedup)
		}
	}
	still := map[string]bool{}
	for _, under := range l.open {
		still[under] = true
	}
	var posts []report.Alert
	for _, under := range slices.Sorted(maps.Keys(ends)) {
		post := report.Joined(ends[under])
		if post.Dedup = under; still[under] {
			post.Dedup = ends[under][0].Dedup // others go on
		}
		posts = append(posts, post)
	}
	return posts
}

// admits counts an alert for which the command would be run, and reports whether it is. why is nil where that
// was said before, and for the end of an alert for whose beginning it was not run.
func (l *line) admits(a report.Alert, now time.Time) (run bool, why error) {
	if a.State == report.Resolved {
		run = l.ran[a.Dedup]
		delete(l.ran, a.Dedup)
		return run, nil
	}
	if now.Sub(l.began) >= time.Minute || now.Before(l.began) {
		l.began, l.n, l.told = now, 0, false
	}
	if l.n < perMinute {
		l.n++
		l.ran[a.Dedup] = true
		return true, nil
	}
	if !l.told {
		l.told = true
		why = fmt.Errorf("it began %d times within a minute: it is not run for further ones before %s", perMinute,
			l.began.Add(time.Minute).Format(time.TimeOnly))
	}
	return false, why
}
