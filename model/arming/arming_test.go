package arming_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/model/arming"
)

var (
	zero = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	prod = arming.Server{Name: "redis://prod", RunID: "a"}
)

// TestAnArmingEnds plays what happens to an arming on a virtual clock.
func TestAnArmingEnds(t *testing.T) {
	type step struct {
		after time.Duration
		do    func(s *arming.State, now time.Time)
	}
	meet := func(name, id string) func(*arming.State, time.Time) {
		return func(s *arming.State, _ time.Time) { s.Meet(arming.Server{Name: name, RunID: id}) }
	}
	arm := func(s *arming.State, now time.Time) { s.Arm(now, prod) }
	use := func(s *arming.State, now time.Time) { _ = s.Use(now) }
	lose := func(s *arming.State, _ time.Time) { s.Lose() }
	disarm := func(s *arming.State, _ time.Time) { s.Disarm() }
	armUnknown := func(s *arming.State, now time.Time) { s.Arm(now, arming.Server{Name: "redis://prod"}) }
	for name, c := range map[string]struct {
		steps []step
		left  time.Duration // 0: it is not armed
		why   string        // in the error
	}{
		"never armed":                         {nil, 0, "not armed"},
		"armed":                               {[]step{{0, arm}}, arming.Lasts, ""},
		"time passes":                         {[]step{{0, arm}, {4 * time.Minute, nil}}, 6 * time.Minute, ""},
		"use begins the time anew":            {[]step{{0, arm}, {9 * time.Minute, use}, {9 * time.Minute, nil}}, time.Minute, ""},
		"the last instant":                    {[]step{{0, arm}, {arming.Lasts - 1, nil}}, 1, ""},
		"unused":                              {[]step{{0, arm}, {arming.Lasts, nil}}, 0, "nothing was fired for 10 minutes"},
		"use after the end does not arm":      {[]step{{0, arm}, {arming.Lasts, use}}, 0, "nothing was fired for 10 minutes"},
		"by hand":                             {[]step{{0, arm}, {1, disarm}}, 0, "by hand"},
		"again":                               {[]step{{0, arm}, {1, disarm}, {1, arm}}, arming.Lasts, ""},
		"disarming twice":                     {[]step{{0, disarm}, {1, disarm}}, 0, "not armed"},
		"the same server":                     {[]step{{0, arm}, {1, meet("redis://prod", "a")}}, arming.Lasts - 1, ""},
		"another run id":                      {[]step{{0, arm}, {1, meet("redis://prod", "b")}}, 0, "started anew"},
		"another server":                      {[]step{{0, arm}, {1, meet("redis://other", "a")}}, 0, "another server answers, redis://other"},
		"lost and back":                       {[]step{{0, arm}, {1, lose}, {1, meet("redis://prod", "a")}}, arming.Lasts - 2, ""},
		"lost and back with another run id":   {[]step{{0, arm}, {1, lose}, {1, meet("redis://prod", "b")}}, 0, "started anew"},
		"lost and back without a run id":      {[]step{{0, arm}, {1, lose}, {1, meet("redis://prod", "")}}, 0, "does not say"},
		"no run id, never lost":               {[]step{{0, armUnknown}, {1, meet("redis://prod", "")}}, arming.Lasts - 1, ""},
		"no run id, lost":                     {[]step{{0, armUnknown}, {1, lose}, {1, meet("redis://prod", "a")}}, 0, "does not say"},
		"a run id that comes later is kept":   {[]step{{0, armUnknown}, {1, meet("redis://prod", "a")}, {1, meet("redis://prod", "b")}}, 0, "started anew"},
		"a server before it is armed is none": {[]step{{0, lose}, {0, meet("redis://prod", "b")}, {0, arm}}, arming.Lasts, ""},
		"the clock is set back":               {[]step{{0, arm}, {-time.Hour, nil}}, arming.Lasts, ""},
	} {
		var s arming.State
		now := zero
		for _, st := range c.steps {
			if now = now.Add(st.after); st.do != nil {
				st.do(&s, now)
			}
		}
		err := s.Err(now)
		if got := s.Left(now); got != c.left || (err == nil) != (c.left > 0) {
			t.Errorf("%s: %v are left (%v), want %v", name, got, err, c.left)
		}
		if c.left == 0 && (!errors.Is(err, arming.ErrDisarmed) || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: the error is %q, want it to say %q", name, err, c.why)
		}
		if st := s.Status(now); st.Armed != (c.left > 0) || st.Left != c.left {
			t.Errorf("%s: the status is %+v", name, st)
		}
	}
}

func TestWhatLooksLikeProduction(t *testing.T) {
	own := arming.Traits{Loopback: true}
	if why := own.Production(); why != nil {
		t.Errorf("a server of this machine counts as production: %q", why)
	}
	for want, traits := range map[string]arming.Traits{
		"production: true": {Loopback: true, Marked: true},
		"not on this":      {},
		"replicas (2)":     {Loopback: true, Replicas: 2},
		"51 clients":       {Loopback: true, Clients: 51},
	} {
		why := traits.Production()
		if len(why) != 1 || !strings.Contains(why[0], want) {
			t.Errorf("%+v: %q, want %q", traits, why, want)
		}
	}
	if why := (arming.Traits{Loopback: true, Clients: 50, Replicas: -1}).Production(); why != nil {
		t.Errorf("50 clients count as production: %q", why)
	}
}

func TestNamed(t *testing.T) {
	for key, c := range map[string]struct{ yes, no []string }{
		"rl:login:10.0.0.7": {[]string{"rl:login:10.0.0.7", "10.0.0.7"}, []string{"", "rl", "login", "7", "10.0.0.7 "}},
		"rl:alice":          {[]string{"rl:alice", "alice"}, []string{"", "Alice", "lice", "rl:"}},
		"alice":             {[]string{"alice"}, []string{"", "a"}},
		"rl:":               {[]string{"rl:"}, []string{"", "rl"}},
		"{api}/v1":          {[]string{"{api}/v1", "v1"}, []string{"api"}},
	} {
		for _, typed := range c.yes {
			if !arming.Named(key, typed) {
				t.Errorf("%q does not name %q", typed, key)
			}
		}
		if i := slices.IndexFunc(c.no, func(typed string) bool { return arming.Named(key, typed) }); i >= 0 {
			t.Errorf("%q names %q", c.no[i], key)
		}
	}
}
