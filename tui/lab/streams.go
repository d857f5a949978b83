package lab

import (
	"fmt"
	"slices"
	"time"

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
func (s *story) streams() []stream {
	limit := s.run.Setup().Limit
	ms := float64(limit.Window) / float64(time.Millisecond)
	n := float64(max(limit.Count, 1))
	perSecond := min(n/limit.Window.Seconds(), 10_000)
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
		one("end-of-window adversary", lab.Traffic{Model: lab.Adversary, SpreadMS: ms / 100}),
		one("retry storm", storm),
		one("retries with backoff", calm),
	}
	if own := s.at().Traffic; len(own) > 0 {
		list = append(list, stream{name: "the lesson's", list: own})
	}
	if s.trace != nil {
		list = append(list, stream{name: "recorded", recorded: true})
	}
	return list
}

// on is the number of the stream that comes by itself now, in a list; -1 for one that was
// made for another limit.
func (s *story) on(list []stream) int {
	return slices.IndexFunc(list, func(t stream) bool {
		return t.recorded == s.recorded && (s.recorded || slices.Equal(t.list, s.traffic))
	})
}

// trafficName says what comes by itself.
func (s *story) trafficName() string {
	list := s.streams()
	if i := s.on(list); i >= 0 {
		return list[i].name
	}
	return string(s.traffic[0].Model)
}

// keyCount returns how many keys the traffic is spread over; 1 where it is not recorded.
func (s *story) keyCount() int {
	if s.recorded {
		return len(s.trace.Keys)
	}
	return 1
}

// keyName says whose requests come.
func (s *story) keyName() string {
	n := s.keyCount()
	if s.key == lab.AllKeys {
		return fmt.Sprintf("all %d as one", n)
	}
	name := fmt.Sprintf("%d of %d", s.key+1, n)
	return name + " " + safetext.Clip(safetext.Clean(s.trace.Keys[s.key].Name), 18, safetext.Ellipsis)
}
