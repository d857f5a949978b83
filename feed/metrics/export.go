// Package metrics exports what is watched to Prometheus: a gauge for every figure of every
// key, counts of keys by state, how the server does, and what the watching costs. What is
// not known is absent, never 0.
//
// Keys that are throttled or near their limit always have series. The others make at most
// Options.MaxKeys series of each kind together with them; the most utilized come first, and
// a key that has its series keeps them as long as it is watched, so that they do not
// flicker. How many keys are left out is a metric too. A key that is only likely to be a
// limiter is counted and has no series.
package metrics

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"ratescope/feed/connect"
	"ratescope/feed/relay"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// DefaultMaxKeys is how many keys have series where Options.MaxKeys is 0.
const DefaultMaxKeys = 1000

// Options says how keys are told.
type Options struct {
	MaxKeys int                   // 0 means DefaultMaxKeys
	Mask    bool                  // hide the middle of key names; of those that look alike then, one is told
	Now     func() time.Time      // nil means time.Now
	Build   string                // version and commit, for ratescope_build_info; "" leaves it out
	Firing  func() []report.Alert // alerts that fire now; nil for none
	// Deliveries calls its argument with how many alerts of each rule had each outcome; nil for none.
	Deliveries func(func(rule string, outcome report.DeliveryOutcome, n int))
	Access     Access        // who may read them
	Hosts      []string      // names under which requests are answered beside addresses, localhost and this machine's name
	Slots      connect.Slots // of the limiters that are watched
	Stream     record.Header // the first line of the stream for dashboards; see relay.Hub
}

// Collector is a prometheus.Gatherer of what it is given. Make one with New. It is safe
// for concurrent use.
type Collector struct {
	o Options

	mu       sync.Mutex
	board    model.Board
	begun    bool
	answered time.Time       // this machine's clock when the server last answered
	at       limiter.Instant // the server's clock then
	commands int64
	spent    time.Duration
	exported map[string]bool     // keys that have series
	since    limiter.Instant     // when the server first answered; 0 not yet
	counts   map[string]*counted // by key

	hub     *relay.Hub
	process *prometheus.Registry
}

// New returns a collector that knows nothing yet.
func New(o Options) *Collector {
	o.MaxKeys = cmp.Or(o.MaxKeys, DefaultMaxKeys)
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Collector{o: o, board: model.Board{Rough: true}, exported: map[string]bool{}, counts: map[string]*counted{},
		process: prometheus.NewRegistry()}
	c.process.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	c.hub = relay.NewHub(relay.HubOptions{Header: o.Stream, Take: c.take, State: c.state, Clients: o.Access.streams()})
	return c
}

// state returns where everything stands, for those who begin to read the stream.
func (c *Collector) state() model.Batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.board.Batch()
	b.Cost = model.Cost{}
	if c.board.Health.At != 0 {
		b.Health = new(c.board.Health)
	}
	return b
}

// Put takes in a batch, and hands it on to those who read the stream.
func (c *Collector) Put(b model.Batch) { c.hub.Put(b) }

// take takes in a batch.
func (c *Collector) take(b model.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(&b)
	c.board.Apply(b)
	if len(c.counts) > mostCounted {
		maps.DeleteFunc(c.counts, func(name string, _ *counted) bool { return c.board.Key(name) == nil })
	}
	c.begun = true
	c.commands += b.Cost.Commands
	c.spent += b.Cost.Server
	if b.Server.Link == model.Live {
		c.answered, c.at = b.Local, c.board.At
	}
}

// Gather implements prometheus.Gatherer: it returns the figures of the source, of its keys and of this process.
func (c *Collector) Gather() ([]*dto.MetricFamily, error) {
	families, err := c.process.Gather()
	families = slices.AppendSeq(families, maps.Values(c.page().families))
	slices.SortFunc(families, func(x, y *dto.MetricFamily) int { return strings.Compare(x.GetName(), y.GetName()) })
	return families, err
}

// page returns the figures of the source, and those of its keys.
func (c *Collector) page() *page {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &page{map[string]*dto.MetricFamily{}, map[string]bool{}}
	local, server := c.o.Now(), c.board.Server
	live := c.begun && server.Link == model.Live
	up := collect.If(live, 1, 0.0)
	p.tell("up", up)
	if !c.begun {
		return p
	}
	away := max(local.Sub(c.answered), 0) // since the server last answered
	now := c.board.At
	if live { // else what was last known stays, and its age says so
		now = now.Add(max(local.Sub(c.board.Local), 0))
	}
	c.board.Refresh(now)
	if !c.answered.IsZero() {
		p.tell("source_age_seconds", away.Seconds())
	}
	p.tell("keys", float64(c.board.Len()))
	p.tell("watch_commands_total", float64(c.commands))
	p.tell("watch_server_seconds_total", c.spent.Seconds())
	if s := c.o.Slots; !s.All() {
		p.tell("slots", float64(s.Past-s.First))
	}
	p.states(c.board.Totals())
	p.sweep(&c.board.Sweep)
	if live {
		p.health(&c.board.Health, server)
	}
	if c.o.Build != "" {
		p.tell("build_info", 1, runtime.Version(), c.o.Build)
	}
	if c.o.Firing != nil {
		for _, a := range c.o.Firing() {
			key := ""
			if a.Key != nil {
				key = c.name(string(*a.Key))
			}
			p.tell("alert_firing", 1, a.Alert, key, a.Severity)
		}
	}
	if c.o.Deliveries != nil {
		c.o.Deliveries(func(rule string, outcome report.DeliveryOutcome, n int) {
			p.tell("alert_deliveries_total", float64(n), rule, string(outcome))
		})
	}
	chosen := c.choose()
	p.tell("keys_without_series", float64(c.board.Len()-len(chosen)))
	c.figures(p, chosen, c.at.Add(away))
	return p
}

// choose returns the keys that have series: those that are throttled or near their limit,
// then those that had series before, then the most utilized.
func (c *Collector) choose() []*model.Watched {
	all := c.board.Select(model.View{Sort: model.ByUtilization})
	names := map[string]bool{}
	var chosen []*model.Watched
	for pass := range 3 {
		for _, k := range all {
			pressing := k.Gauge.Throttled() || k.Gauge.Near()
			switch {
			case k.Reading.Target.Evidence == model.Likely, pressing != (pass == 0), pass == 1 && !c.exported[k.Reading.Key], pass > 0 &&
				len(chosen) >= c.o.MaxKeys:
				continue
			}
			if name := c.name(k.Reading.Key); !names[name] {
				names[name] = true
				chosen = append(chosen, k)
			}
		}
	}
	clear(c.exported)
	for _, k := range chosen {
		c.exported[k.Reading.Key] = true
	}
	return chosen
}

// maxName is how many bytes of a name are told.
const maxName = 512

// name is a key as a label.
func (c *Collector) name(key string) string {
	if c.o.Mask {
		key = safetext.Mask(key)
	}
	return label(key)
}

// label returns a text from the server as the value of a label. The format would leave all but a quote, a
// backslash and a line feed as they are, and a page that is looked at with curl reaches a terminal.
func label(key string) string {
	key = safetext.Clean(key)
	if len(key) > maxName {
		key = strings.ToValidUTF8(key[:maxName/2], "") + "…" + strings.ToValidUTF8(key[len(key)-maxName/2:], "")
	}
	return key
}

// counted is how many units of a key were admitted and denied since the exporter began, as its readings told.
type counted struct {
	admitted, denied int64
	through          limiter.Instant // of the latest reading
}

// mostCounted bounds the keys that left and whose counts are kept, so that they do not fall when the key
// comes back.
const mostCounted = 100_000

// count adds up what a batch tells of, before the board takes it in.
func (c *Collector) count(b *model.Batch) {
	if c.since == 0 && b.Server.Link == model.Live {
		c.since = b.At
	}
	for i := range b.Readings {
		r := &b.Readings[i]
		n := c.counts[r.Key]
		if n == nil {
			n = &counted{}
			c.counts[r.Key] = n
		}
		from := c.since - 1
		if k := c.board.Key(r.Key); k == nil || r.Repeats(&k.Reading) {
			from = max(from, n.through)
		}
		for _, a := range r.Arrivals {
			switch {
			case a.At <= from || a.N <= 0:
			case a.Denied:
				n.denied += a.N
			default:
				n.admitted += a.N
			}
		}
		n.through = r.At
	}
}
