package foreign

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// TestRefund: no more is given back than counts still, a key that is then as new is removed where its library keeps
// none, and expiries are those of the library.
func TestRefund(t *testing.T) {
	at := limiter.InstantOf(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	seconds := func(wait float64) string {
		return strconv.FormatFloat(float64(int64(at)/1e6-start2017)+wait, 'g', 17, 64)
	}
	nanos := func(wait float64) string { return strconv.FormatInt(int64(at)*1000+int64(wait*1e9), 10) }
	for name, c := range map[string]struct {
		w       *Writer
		held    string // "" no key
		units   int64
		given   int64
		command string // "" none
	}{
		"redis_rate":             {redisRate, seconds(50), 2, 2, "[set k " + seconds(30) + "][pexpireat k " + nanos(30)[:13] + "]"},
		"redis_rate, all of it":  {redisRate, seconds(25), 9, 3, "[del k]"},
		"redis_rate, as new":     {redisRate, seconds(-5), 3, 0, ""},
		"redis_rate, no key":     {redisRate, "", 3, 0, ""},
		"throttled":              {throttled, nanos(50.5), 2, 2, "[set k " + nanos(30.5) + "][pexpireat k " + nanos(30)[:13] + "]"},
		"throttled, all of it":   {throttled, nanos(25), 9, 3, "[del k]"},
		"throttled, as new":      {throttled, nanos(-5), 9, 0, ""},
		"redis-cell":             {redisCell, nanos(50.5), 2, 2, "[set k " + nanos(30.5) + "][pexpireat k " + nanos(30.5)[:13] + "]"},
		"a bucket":               {stripe, "1", 2, 2, "[set k 3 keepttl]"},
		"a bucket, all of it":    {stripe, "4.5", 9, 2, "[set k 6 keepttl]"},
		"a bucket that is full":  {stripe, "6", 9, 0, ""},
		"a bucket without a key": {goZero, "", 9, 0, ""},
	} {
		limit := limiter.Limit{Count: 6, Window: time.Minute} // one in ten seconds
		r := &Request{Target: &model.Target{Algorithm: c.w.Algorithm, Limit: limit, LimitKnown: true, Window: limit.Window}, At: at, Held: []decode.Sample{{Key: "k", Type: "string", Text: c.held}}}
		if c.held == "" {
			r.Held[0].Type = "none"
		}
		got, err := c.w.Refund(r, c.units)
		command := ""
		for _, c := range got.Commands {
			command += fmt.Sprint(c)
		}
		if err != nil || got.Decision.Cost != c.given || command != c.command {
			t.Errorf("%s: %d are given back by %s (%v), want %d by %s", name, got.Decision.Cost, command, err, c.given, c.command)
		}
	}
	r := &Request{Target: &model.Target{Limit: limiter.Limit{Count: 6, Window: time.Minute}}, At: at, Held: []decode.Sample{{Key: "k", Type: "string", Text: "of another program"}}}
	for _, w := range All() {
		if w.Algorithm.Bursts() {
			if got, err := w.Refund(r, 1); err == nil {
				t.Errorf("%s (%v) writes %v over what it does not know", w.Library, w.Algorithm, got.Commands)
			}
		}
	}
}

// TestALimitOfNothing: no request is computed by a limit of 0, by which libraries divide, while one that is not known is the
// business of who asks.
func TestALimitOfNothing(t *testing.T) {
	for _, w := range All() {
		target := &model.Target{Library: w.Library, Algorithm: w.Algorithm, Limit: limiter.Limit{Window: time.Minute}, LimitKnown: true}
		if err := w.Check(target, 1); err == nil || !strings.Contains(err.Error(), "a limit of 0") || !strings.Contains(err.Error(), "--limit") {
			t.Errorf("%s (%v): %v", w.Library, w.Algorithm, err)
		}
		if target.LimitKnown = false; w.Check(target, 1) != nil {
			t.Errorf("%s (%v): %v", w.Library, w.Algorithm, w.Check(target, 1))
		}
	}
}
