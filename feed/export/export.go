// Package export tells Prometheus what is watched: a gauge for every figure of every key,
// and how the source does. What is not known is absent, never 0.
//
// All keys together make at most Options.MaxKeys series of each kind; the most utilized
// come first, and a key that has its series keeps them as long as it is watched, so that
// they do not flicker. How many keys are left out is a metric too.
package export

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
)

// DefaultMaxKeys is how many keys have series when nobody says.
const DefaultMaxKeys = 1000

// Options says how keys are told.
type Options struct {
	MaxKeys int              // 0 means DefaultMaxKeys
	Mask    bool             // hide the middle of key names; of those that look alike then, one is told
	Now     func() time.Time // nil means time.Now
}

// Collector is a prometheus.Collector of what it is given. Make one with New. It is safe
// for concurrent use.
type Collector struct {
	o Options

	mu       sync.Mutex
	board    model.Board
	begun    bool
	heard    time.Time // this machine's clock when the server last answered
	commands int64
	spent    time.Duration
	told     map[string]bool // keys that have series
}

// New returns a collector that knows nothing yet.
func New(o Options) *Collector {
	if o.MaxKeys == 0 {
		o.MaxKeys = DefaultMaxKeys
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Collector{o: o, told: map[string]bool{}}
}

// Put takes in a batch.
func (c *Collector) Put(b model.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.board.Apply(b)
	c.begun = true
	c.commands += b.Cost.Commands
	c.spent += b.Cost.Server
	if b.Server.Link == model.Live {
		c.heard = b.Local
	}
}

func perKey(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("ratescope_key_"+name, help, []string{"key", "algorithm"}, nil)
}

func ofSource(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("ratescope_"+name, help, nil, nil)
}

// The metrics.
var (
	keyUsed        = perKey("used", "Units of the limit that are used now.")
	keyLimit       = perKey("limit", "Units that are admitted in a window; absent when it is not known.")
	keyWindow      = perKey("window_seconds", "Length of the window; absent when it is not known.")
	keyUtilization = perKey("utilization_ratio", "Used over limit, 1 is full; absent when the limit is not known.")
	keyRemaining   = perKey("remaining", "Units that are left; absent when the limit is not known.")
	keyDenied      = perKey("denied", "Units denied in the last window; absent where denials are not recorded.")
	keyNext        = perKey("next_admission_seconds", "Time until one request is admitted: 0 is now, +Inf never; absent when the limit is not known.")
	keyRate        = perKey("rate_per_second", "Admitted units a second over the last window; absent when it is not known.")
	keyAge         = perKey("reading_age_seconds", "Time since the key was read.")

	up       = ofSource("up", "Whether the server answers.")
	age      = ofSource("source_age_seconds", "Time since the server last answered; absent before it did.")
	rtt      = ofSource("round_trip_seconds", "Round trip time of the last reading; absent when it is not known.")
	keys     = ofSource("keys", "Limiters that are watched.")
	leftOut  = ofSource("keys_without_series", "Limiters that are watched and have no series, for there are too many or their names look alike.")
	dropped  = ofSource("keys_not_watched", "Limiters that were found beyond the most that are watched.")
	commands = ofSource("watch_commands_total", "Commands that watching sent to the server.")
	spent    = ofSource("watch_server_seconds_total", "Time of the server that watching took, estimated.")
)

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{keyUsed, keyLimit, keyWindow, keyUtilization, keyRemaining, keyDenied, keyNext, keyRate, keyAge,
		up, age, rtt, keys, leftOut, dropped, commands, spent} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, m := range c.metrics() { // sent without the lock: whoever reads may be slow
		to <- m
	}
}

func (c *Collector) metrics() []prometheus.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []prometheus.Metric
	tell := func(d *prometheus.Desc, v float64, labels ...string) {
		list = append(list, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...))
	}
	local, server := c.o.Now(), c.board.Server
	live := c.begun && server.Link == model.Live
	tell(up, number(live))
	if !c.begun {
		return list
	}
	now := c.board.At
	if live { // else what was last known stays, and its age says so
		now = now.Add(max(local.Sub(c.board.Local), 0))
	}
	c.board.Refresh(now)
	if !c.heard.IsZero() {
		tell(age, max(local.Sub(c.heard), 0).Seconds())
	}
	if live && server.RTT > 0 {
		tell(rtt, server.RTT.Seconds())
	}
	tell(keys, float64(c.board.Len()))
	tell(dropped, float64(c.board.Sweep.Dropped))
	list = append(list,
		prometheus.MustNewConstMetric(commands, prometheus.CounterValue, float64(c.commands)),
		prometheus.MustNewConstMetric(spent, prometheus.CounterValue, c.spent.Seconds()))
	chosen := c.choose()
	for _, k := range chosen {
		c.key(k, now, tell)
	}
	tell(leftOut, float64(c.board.Len()-len(chosen)))
	return list
}

// choose returns the keys that have series: first those that had them before.
func (c *Collector) choose() []*model.Watched {
	all := c.board.Select(model.View{Sort: model.ByUtilization})
	names := map[string]bool{}
	var chosen []*model.Watched
	for _, before := range []bool{true, false} {
		for _, k := range all {
			if name := c.name(k.Reading.Key); c.told[k.Reading.Key] == before && len(chosen) < c.o.MaxKeys && !names[name] {
				names[name] = true
				chosen = append(chosen, k)
			}
		}
	}
	clear(c.told)
	for _, k := range chosen {
		c.told[k.Reading.Key] = true
	}
	return chosen
}

// maxName is how many bytes of a name are told.
const maxName = 512

// name is a key as a label: any valid UTF-8, which the format escapes.
func (c *Collector) name(key string) string {
	if c.o.Mask {
		key = safetext.Mask(key)
	}
	if !utf8.ValidString(key) {
		key = safetext.Clean(key)
	}
	if len(key) > maxName {
		key = strings.ToValidUTF8(key[:maxName/2], "") + "…" + strings.ToValidUTF8(key[len(key)-maxName/2:], "")
	}
	return key
}

// key tells what is known of one.
func (c *Collector) key(k *model.Watched, now limiter.Instant, tell func(*prometheus.Desc, float64, ...string)) {
	g, t := &k.Gauge, &k.Reading.Target
	name, algorithm := c.name(k.Reading.Key), t.Algorithm.String()
	say := func(d *prometheus.Desc, known bool, v float64) {
		if known {
			tell(d, v, name, algorithm)
		}
	}
	say(keyUsed, g.Used.Known, float64(g.Used.N))
	say(keyLimit, t.LimitKnown, float64(t.Limit.Count))
	say(keyWindow, t.Window > 0, t.Window.Seconds())
	say(keyUtilization, g.Remaining.Known, g.Utilization)
	say(keyRemaining, g.Remaining.Known, float64(g.Remaining.N))
	say(keyDenied, g.DeniedInW.Known && k.Reading.Err == "", float64(g.DeniedInW.N))
	say(keyNext, g.NextKnown, seconds(g.Next))
	say(keyRate, g.RateKnown, g.Rate)
	say(keyAge, true, max(now.Sub(k.Reading.At), 0).Seconds())
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
