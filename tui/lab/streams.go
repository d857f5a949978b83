package lab

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/model/safetext"
)

// stream is traffic that can be put in the place of a lesson's.
type stream struct {
	name     string
	list     []lab.Traffic
	recorded bool // the trace
}

// streams lists them for the limit of the moment.
func (l *Lab) streams() []stream {
	s := l.run.Setup()
	ms := float64(s.Limit.Window) / float64(time.Millisecond)
	n := float64(max(s.Limit.Count, 1))
	perSecond := min(n/s.Limit.Window.Seconds(), 10_000)
	one := func(name string, t lab.Traffic) stream { return stream{name: name, list: []lab.Traffic{t}} }
	storm := lab.Traffic{Model: lab.Retry, Clients: int(min(3*n, 300)), PerSecond: perSecond / n, RetryMS: 1 + ms/20}
	calm := storm
	calm.Backoff = true
	list := []stream{
		{name: "none"},
		one("poisson, 1.2 × the limit", lab.Traffic{Model: lab.Poisson, PerSecond: 1.2 * perSecond}),
		one("steady, 1.2 × the limit", lab.Traffic{Model: lab.Steady, EveryMS: ms / n / 1.2}),
		one("on and off", lab.Traffic{Model: lab.OnOff, PerSecond: 3 * perSecond, OnMS: 1 + ms*0.4, OffMS: ms * 0.8}),
		one("cron bursts", lab.Traffic{Model: lab.Cron, EveryMS: ms / 2, PhaseMS: ms / 4, Burst: int(min(n*0.7+1, 10_000)), SpreadMS: ms / 20}),
		one("twenty keys (zipf)", lab.Traffic{Model: lab.Zipf, PerSecond: min(3*perSecond, 50_000), Keys: 20}),
		one("end-of-window adversary", lab.Traffic{Model: lab.Adversary, SpreadMS: ms / 100}),
		one("retry storm", storm),
		one("retries with backoff", calm),
	}
	if own := l.at().Traffic; len(own) > 0 {
		list = append(list, stream{name: "the lesson's", list: own})
	}
	if l.o.Trace != nil {
		list = append(list, stream{name: "recorded", recorded: true})
	}
	return list
}

// on is the number of the stream that comes by itself now, in a list; -1 for one that was
// made for another limit.
func (l *Lab) on(list []stream) int {
	return slices.IndexFunc(list, func(t stream) bool {
		return t.recorded == l.recorded && (l.recorded || slices.Equal(t.list, l.traffic))
	})
}

// trafficName says what comes by itself.
func (l *Lab) trafficName() string {
	list := l.streams()
	if i := l.on(list); i >= 0 {
		return list[i].name
	}
	return string(l.traffic[0].Model)
}

// nextTraffic puts the next traffic in place of the present one, from the beginning of
// the story on.
func (l *Lab) nextTraffic(by int) tea.Cmd {
	list := l.streams()
	next := list[(max(l.on(list), 0)+by+len(list))%len(list)]
	l.traffic, l.recorded, l.key = slices.Clone(next.list), next.recorded, 0
	return l.again(l.run.Setup())
}

// keys returns how many keys the traffic is spread over; 1 where it is not.
func (l *Lab) keys() int {
	if l.recorded {
		return len(l.o.Trace.Keys)
	}
	n := 1
	for _, t := range l.traffic {
		n = max(n, t.Keys)
	}
	return n
}

// keyName says whose requests come.
func (l *Lab) keyName() string {
	n := l.keys()
	if l.key == lab.AllKeys {
		return fmt.Sprintf("all %d as one", n)
	}
	name := fmt.Sprintf("%d of %d", l.key+1, n)
	if l.recorded {
		return name + " " + safetext.Clip(safetext.Clean(l.o.Trace.Keys[l.key]), 18, safetext.Ellipsis)
	}
	switch int(l.key) {
	case 0:
		name += ", the busiest"
	case n - 1:
		name += ", the quietest"
	}
	return name
}

// nextKey looks at the requests of the next key alone, or after the last one at all of
// them together.
func (l *Lab) nextKey(by int) tea.Cmd {
	n := l.keys() + 1
	l.key = int32((int(l.key)+1+by+n)%n) - 1
	return l.again(l.run.Setup())
}
