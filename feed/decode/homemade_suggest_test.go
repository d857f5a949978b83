package decode_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model/naming"
)

// sampleOf reads one key.
func sampleOf(t *testing.T, client *redis.Client, key string) decode.Sample {
	t.Helper()
	p := client.Pipeline()
	typ := client.Type(t.Context(), key).Val()
	asked := decode.Ask(t.Context(), p, decode.Fetch{Key: key, Type: typ, Bytes: 1 << 16, Pairs: 200, Ends: 50})
	if _, err := p.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := asked.Sample()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestHomemadeSuggested finds, for keys of limiters that applications write themselves, the rule that tells them right among
// the readings that fit. Every one is a rule as soon as its limit is filled in.
func TestHomemadeSuggested(t *testing.T) {
	eachHomemade(t, func(t *testing.T, all []Homemade) {
		at := limiter.InstantOf(time.Date(2026, 11, 23, 22, 14, 37, 0, time.UTC))
		right, rules := 0, 0
		for i := range all {
			h := &all[i]
			if h.Rule == nil {
				continue
			}
			rules++
			w := NewWorld(t, h, at)
			for _, who := range []string{"alice", "bob"} {
				for range 3 {
					w.Request(t, who)
					w.Advance(300 * time.Millisecond)
				}
			}
			var patterns naming.Patterns
			keys := w.Client.Keys(t.Context(), "*").Val()
			for _, key := range keys {
				patterns.Learn(key, w.Client.Type(t.Context(), key).Val(), w.Now)
			}
			found := ""
			var offered []string
			for _, key := range keys {
				s := sampleOf(t, w.Client, key)
				for _, r := range config.Zoned(config.Suggest(&s, patterns.Of(key, s.Type, w.Now), w.Now)) {
					e := r.Entry
					e.Limit = strings.Replace(h.Limit, "month", "30d", 1)
					if e.Window != "" {
						e.Limit, e.Window = "10/"+e.Window, ""
					}
					fits := func() bool {
						rule, err := e.Rule()
						if err != nil {
							t.Errorf("%s: %+v is no rule: %v", h.Name, e, err)
							return false
						}
						m, ok := rule.Layout.Match(key, s.Type, w.Now)
						return ok && (!m.Over || strings.HasSuffix(e.Limit, "/1s"))
					}
					told := e.Limit
					if strings.Contains(e.Name, "{window:%") { // the calendar says how long it is, unless it is cut
						e.Limit = ""
					}
					if !fits() {
						if e.Limit = told; !fits() {
							t.Errorf("%s: %+v does not fit %q", h.Name, e, key)
						}
					}
					offered = append(offered, fmt.Sprint(e.Name, " ", e.Read))
					if e.Name == h.Rule["name"] && e.Read == h.Rule["read"] && (h.Rule["unit"] == nil || e.Unit == h.Rule["unit"] || e.Ends != "") {
						found = e.Name
					}
				}
			}
			if found != "" {
				right++
			} else {
				t.Logf("%s: %v is not among %q", h.Name, h.Rule, offered)
			}
		}
		if t.Logf("of %d layouts the rule of %d is offered", rules, right); right < rules*7/10 {
			t.Errorf("of %d layouts the rule of %d is offered, want seven of ten", rules, right)
		}
	})
}
