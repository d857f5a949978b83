package alert_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/alert"
)

const dawn limiter.Instant = 1_795_000_000_000_000

// story runs an engine through batches, one every 200 ms of virtual time.
type story struct {
	t      *testing.T
	engine *alert.Engine
	now    time.Duration // since dawn
	used   map[string]int64
	link   model.Link
	health *model.Health
	gone   []string
	skew   time.Duration
	told   []string // "2.2s firing rule key"
}

const refresh = 200 * time.Millisecond

func newStory(t *testing.T, rules ...alert.Rule) *story {
	return &story{t: t, engine: alert.NewEngine(rules), used: map[string]int64{}, link: model.Live}
}

func rule(t *testing.T, name, when string, lasting time.Duration) alert.Rule {
	t.Helper()
	c, err := alert.ParseCondition(when)
	if err != nil {
		t.Fatal(err)
	}
	return alert.Rule{Name: name, When: c, For: lasting, Severity: "page"}
}

// run goes on for d.
func (s *story) run(d time.Duration) {
	for end := s.now + d; s.now < end; s.now += refresh {
		at := dawn.Add(s.now)
		b := model.Batch{At: at, Local: at.Time().Add(-s.skew), Server: model.Server{Link: s.link, Target: "redis://h", Offset: s.skew, OffsetBy: time.Millisecond}, Health: s.health, Gone: s.gone}
		if s.link != model.Live {
			b.At, b.Server.Err = dawn, "it is away: wait"
		} else {
			for name, used := range s.used {
				r := model.Reading{Key: name, Type: "string", At: at, Since: at.Add(-refresh), TTL: time.Hour,
					Target: model.Target{Algorithm: limiter.FixedWindow, LimitKnown: true, Limit: limiter.Limit{Count: 10, Window: time.Hour}, Window: time.Hour}}
				r.State = limiter.State{Algorithm: limiter.FixedWindow, Start: at - at%limiter.Instant(time.Hour/time.Microsecond), Current: used}
				if used < 0 {
					r.Err = "it is a list"
				}
				b.Readings = append(b.Readings, r)
			}
		}
		s.gone = nil
		for _, e := range s.engine.Put(b) {
			state := "resolved"
			if e.Firing {
				state = "firing"
			}
			s.told = append(s.told, strings.TrimSpace(fmt.Sprintf("%v %s %s %s", s.now, state, e.Rule, e.Key)))
		}
	}
}

func (s *story) want(reported ...string) {
	s.t.Helper()
	if !slices.Equal(s.told, reported) {
		s.t.Errorf("it told %q, want %q", s.told, reported)
	}
}

// TestAKeyOverItsLimit fires once when the condition has lasted, and ends once.
func TestAKeyOverItsLimit(t *testing.T) {
	s := newStory(t, rule(t, "throttled", "utilization >= 1", 2*time.Second))
	s.used["rl:a"], s.used["rl:b"] = 9, 10
	s.run(5 * time.Second)
	s.used["rl:b"] = 3
	s.run(10 * time.Second)
	s.want("2s firing throttled rl:b", "7s resolved throttled rl:b")
}

// TestAFlickeringKeyIsOneAlert: a key at its limit frees a slot and loses it again.
func TestAFlickeringKeyIsOneAlert(t *testing.T) {
	s := newStory(t, rule(t, "throttled", "utilization >= 1", 0))
	for range 20 {
		s.used["rl:a"] = 10
		s.run(600 * time.Millisecond)
		s.used["rl:a"] = 9
		s.run(400 * time.Millisecond)
	}
	s.want("0s firing throttled rl:a")
	s.run(5 * time.Second)
	s.want("0s firing throttled rl:a", "21.6s resolved throttled rl:a")
}

// TestAShortBurstIsNone: a condition that does not last does not fire.
func TestAShortBurstIsNone(t *testing.T) {
	s := newStory(t, rule(t, "throttled", "utilization >= 1", 2*time.Second))
	for range 5 {
		s.used["rl:a"] = 10
		s.run(1800 * time.Millisecond)
		s.used["rl:a"] = 9
		s.run(400 * time.Millisecond)
	}
	s.want()
}

// TestALogThatBreathes: a key that is at its limit for most of two minutes, and never for as long as its rule asks, is one
// alert; one that is there for less is none.
func TestALogThatBreathes(t *testing.T) {
	s := newStory(t, rule(t, "throttled", "utilization >= 1", 2*time.Second))
	turns := func(n int, at, below time.Duration) {
		for range n {
			s.used["rl:a"] = 10
			s.run(at)
			s.used["rl:a"] = 9
			s.run(below)
		}
	}
	turns(300, 600*time.Millisecond, 400*time.Millisecond)
	s.want()
	s.run(time.Minute)
	turns(55, 1800*time.Millisecond, 400*time.Millisecond)
	s.want("8m0s firing throttled rl:a")
	s.run(5 * time.Second)
	s.want("8m0s firing throttled rl:a", "8m2.6s resolved throttled rl:a")
}

// TestTheServerAway: what is not known neither begins nor ends anything, and no_data says so.
func TestTheServerAway(t *testing.T) {
	s := newStory(t, rule(t, "throttled", "utilization >= 1", time.Second), rule(t, "away", "no_data", 3*time.Second))
	s.used["rl:a"] = 10
	s.run(2 * time.Second)
	s.link = model.Down
	s.run(20 * time.Second)
	s.want("1s firing throttled rl:a", "5s firing away")
	s.link = model.Live
	s.run(8 * time.Second)
	s.want("1s firing throttled rl:a", "5s firing away", "25s resolved away")
	delete(s.used, "rl:a")
	s.gone = []string{"rl:a"}
	s.run(8 * time.Second)
	s.want("1s firing throttled rl:a", "5s firing away", "25s resolved away", "32s resolved throttled rl:a")
}

// TestLimitsForgotten tells of keys that left before they expired, most of them together;
// keys that their owner deletes are none.
func TestLimitsForgotten(t *testing.T) {
	s := newStory(t, rule(t, "lost", "forgotten", 0))
	for i := range 22 {
		s.used[fmt.Sprintf("rl:%d", i)] = 5
	}
	s.run(time.Second)
	delete(s.used, "rl:21")
	s.gone = []string{"rl:21"}
	s.run(30 * time.Second)
	s.want()
	for i := range 20 {
		name := fmt.Sprintf("rl:%d", i)
		delete(s.used, name)
		s.gone = append(s.gone, name)
	}
	s.run(refresh)
	firing := s.engine.Firing()
	if len(firing) != 1 || firing[0].Value != 20 || firing[0].Total != 21 {
		t.Errorf("it fires %+v", firing)
	}
	s.run(90 * time.Second)
	s.want("31s firing lost", "1m33.2s resolved lost")
}

// TestServerFigures: each figure of the server by its own rule.
func TestServerFigures(t *testing.T) {
	s := newStory(t, rule(t, "slow", "script_latency_ms > 2", 0), rule(t, "evicting", "evictions_per_s >= 1", 0),
		rule(t, "failing", "errors_per_s >= 5", 0), rule(t, "skewed", "skew_ms >= 500", 0), rule(t, "sick", "sick", 0))
	s.used["rl:a"] = -1
	s.run(time.Second)
	s.used["rl:a"] = 1 // its program stood still between two of its writes
	s.run(time.Second)
	s.used["rl:a"] = -1
	s.run(3 * time.Second)
	s.want("4s firing sick rl:a")
	s.used["rl:a"] = 1
	s.skew = time.Second
	s.health = &model.Health{Over: time.Second, Evicted: model.Measure{Known: true, V: 3},
		Errors:   []model.ErrorStat{{Name: "MOVED", Rate: 4}, {Name: "ASK", Rate: 9}, {Name: "OOM", Rate: 3}},
		Commands: []model.CommandStat{{Name: "evalsha", Calls: 5, Mean: 3 * time.Millisecond, Scripts: true}, {Name: "keys", Calls: 1, Mean: time.Second}}}
	s.told = nil
	s.run(time.Second)
	s.want("5s firing evicting", "5s firing skewed", "5s firing slow") // a slot that moves is no error
	s.health.Errors = []model.ErrorStat{{Name: "OOM", Rate: 3}, {Name: "WRONGTYPE", Rate: 2}}
	s.told = nil
	s.run(time.Second)
	s.want("6s firing failing")
}

// TestSetRules ends the alerts of rules that are gone, and leaves the others alone.
func TestSetRules(t *testing.T) {
	kept, dropped := rule(t, "kept", "utilization >= 1", 0), rule(t, "dropped", "utilization >= 0.5", 0)
	s := newStory(t, dropped, kept)
	s.used["rl:a"] = 10
	s.run(time.Second)
	ended := s.engine.SetRules([]alert.Rule{kept})
	if len(ended) != 1 || ended[0].Rule != "dropped" || ended[0].Firing {
		t.Errorf("it ends %+v", ended)
	}
	s.told = nil
	s.run(time.Second)
	s.want()
	if f := s.engine.Firing(); len(f) != 1 || f[0].Rule != "kept" || f[0].Since != dawn {
		t.Errorf("it fires %+v", f)
	}
}

func TestParseCondition(t *testing.T) {
	for text, want := range map[string]string{
		"utilization >= 1": "utilization >= 1", "utilization>0.90": "utilization > 0.9", " rate_per_s <= 5 ": "rate_per_s <= 5", "skew_ms<1e3": "skew_ms < 1000", "no_data": "no_data",
	} {
		if c, err := alert.ParseCondition(text); err != nil || c.String() != want {
			t.Errorf("%q is read as %q, %v", text, c, err)
		}
	}
	for text, want := range map[string]string{
		"": "no metric", "utilisation >= 1": "no metric", "utilization": "compares nothing", "utilization >= much": "no number", "utilization >= NaN": "no number",
		"utilization >= Inf": "no number", "sick >= 1": "has no number", "utilization = 1": "no metric", "utilization >=": "no number",
	} {
		_, err := alert.ParseCondition(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if unknown := (*alert.UnknownMetricError)(nil); want == "no metric" != errors.As(err, &unknown) {
			t.Errorf("%q: %T", text, err)
		}
	}
}

// FuzzCondition reads the condition of a rule, and what it reads it writes so that it is read again.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{"utilization >= 0.9", "no_data", "denied_rate>1e3", "skew < -0", ">=", "utilization >= NaN"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := alert.ParseCondition(text)
		if err != nil {
			return
		}
		if again, err := alert.ParseCondition(c.String()); err != nil || again != c {
			t.Errorf("%q is written as %q, which is read as %+v, %v", text, c, again, err)
		}
	})
}

// TestDenialsFireSoon: a counter of a minute that denies 9.6 requests a second from its sixth second on fires within five seconds,
// also above a threshold of 9, and does not before.
func TestDenialsFireSoon(t *testing.T) {
	for when, latest := range map[string]time.Duration{"denied_per_s > 5": 5 * time.Second, "denied_per_s > 9": 12 * time.Second} {
		e := alert.NewEngine([]alert.Rule{rule(t, "denies", when, 2*time.Second)})
		start := dawn.Floor(time.Minute)
		const begins = 6 * time.Second
		var fired time.Duration
		for now, denied := time.Duration(0), int64(0); now < time.Minute && fired == 0; now += refresh {
			at := start.Add(now)
			r := model.Reading{Key: "rl:hot", Type: "string", At: at, Since: at.Add(-refresh), Denied: model.Count{Known: true, N: denied},
				Target: model.Target{Algorithm: limiter.FixedWindow, LimitKnown: true, Limit: limiter.Limit{Count: 60, Window: time.Minute}, Window: time.Minute}}
			if n := int64(max(now-begins, 0).Seconds()*9.6) - denied; n > 0 {
				denied += n
				r.Denied.N = denied
				r.Arrivals = []model.Arrival{{At: at, N: n, Denied: true}}
			}
			r.State = limiter.State{Algorithm: limiter.FixedWindow, Start: start, Current: min(int64(now.Seconds()*10), 60) + denied}
			for range e.Put(model.Batch{At: at, Local: at.Time(), Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}}) {
				fired = now
			}
		}
		if fired <= begins || fired > begins+latest {
			t.Errorf("%s fired at %v, want within %v of %v", when, fired, latest, begins)
		}
	}
}

// TestHeldWhenFirstRead: an alert that held when its key was first read has lasted at least so long, one that began later exactly so.
func TestHeldWhenFirstRead(t *testing.T) {
	for _, first := range []bool{true, false} {
		e := alert.NewEngine([]alert.Rule{rule(t, "throttled", "utilization >= 1", 2*time.Second)})
		var told []alert.Event
		for n := range 60 {
			at, used := dawn.Add(time.Duration(n)*refresh), int64(10)
			if n == 0 && !first || n >= 40 {
				used = 1
			}
			r := model.Reading{Key: "k", Type: "string", At: at, TTL: time.Hour, State: limiter.State{Algorithm: limiter.FixedWindow, Start: dawn, Current: used},
				Target: model.Target{Algorithm: limiter.FixedWindow, LimitKnown: true, Limit: limiter.Limit{Count: 10, Window: time.Hour}, Window: time.Hour}}
			if n > 0 {
				r.Since = at.Add(-refresh)
			}
			told = append(told, e.Put(model.Batch{At: at, Local: at.Time(), Server: model.Server{Link: model.Live, Target: "redis://h"}, Readings: []model.Reading{r}})...)
		}
		if len(told) != 2 || told[0].AtLeast != first || told[1].AtLeast != first || told[1].Firing {
			t.Errorf("it held when the key was first read: %v, and told %+v", first, told)
		}
	}
}
