package sandbox_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"ratescope/feed/script"
	"ratescope/feed/script/sandbox"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model/bench"
)

// TestOnServer: a real server answers as the embedded one does, time and expiries included, is left empty, and is
// refused when it holds keys.
func TestOnServer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	limit := limiter.Limit{Count: 10, Window: 10 * time.Second}
	for _, name := range []string{"incr-renewed", "log-expires-early", "gcra", "window-key", "stamp-expires-first", "denies-by-error"} {
		t.Run(name, func(t *testing.T) {
			client := servertest.Client(t)
			text, err := os.ReadFile("testdata/" + name + ".lua")
			if err != nil {
				t.Fatal(err)
			}
			r := check(t, string(text), limit)
			call, _, err := script.Head(string(text))
			if err != nil {
				t.Fatal(err)
			}
			s := sandbox.Script{Text: string(text), Call: call, Limit: limit}
			here, err := sandbox.New(s)
			if err != nil {
				t.Fatal(err)
			}
			defer here.Close()
			there, err := sandbox.NewOn(ctx, client, false, s)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Confirm(here, there, "it"); err != nil {
				t.Fatal(err)
			}
			if r.Worst.Confirmed != "confirmed on it" {
				t.Errorf("worst: %s", r.Worst.Confirmed)
			}
			for _, f := range r.Findings {
				if f.Confirmed != "confirmed on it" {
					t.Errorf("%s: %s", f.ID, f.Confirmed)
				}
			}
			p, err := there.Price(bench.Zero(limit.Window))
			if err != nil || p.Micros <= 0 || p.Multiple <= 0 || len(p.Bytes) != 3 {
				t.Errorf("price %+v, %v", p, err)
			}
			if n := client.DBSize(ctx).Val(); n != 0 {
				t.Errorf("%d keys were left", n)
			}
			client.Set(ctx, "other", 1, 0)
			if _, err := sandbox.NewOn(ctx, client, true, s); err == nil || !strings.Contains(err.Error(), "holds keys") {
				t.Errorf("a server with a key: %v", err)
			}
		})
	}
}

// TestAServerThatStandsStill while a script runs shortens no expiry: the script is busy for more than a second after it set one.
func TestAServerThatStandsStill(t *testing.T) {
	t.Parallel()
	limit := limiter.Limit{Count: 1, Window: 5 * time.Second}
	text := `if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
		redis.call('SET', KEYS[1], '1', 'PX', 5000)
		local function now() local t = _G.redis.call('TIME') return t[1] + t[2] / 1000000 end
		local begun = now()
		for i = 1, 5000000 do if now() - begun > 1.2 then break end end
		return 1`
	decides(t, text, limit, decided{0, true}, decided{4999 * time.Millisecond, false}, decided{5 * time.Second, true})
}

// decided is what a script answers so long after the first request.
type decided struct {
	after   time.Duration
	allowed bool
}

// decides holds a script on a server to its answers.
func decides(t *testing.T, text string, limit limiter.Limit, want ...decided) {
	t.Helper()
	s, err := sandbox.NewOn(t.Context(), servertest.Client(t), false, sandbox.Script{Text: text, Call: script.Default, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	at := bench.Zero(limit.Window)
	for _, step := range want {
		if a := s.Admit(at.Add(step.after), 1); a.Err != nil || a.Admitted != step.allowed {
			t.Errorf("%s after %v: allowed %v, %v; want %v", text, step.after, a.Admitted, a.Err, step.allowed)
		}
	}
}

// TestAnExpiryThatIsThere is not renewed by a command that sets one only where there is none.
func TestAnExpiryThatIsThere(t *testing.T) {
	t.Parallel()
	limit := limiter.Limit{Count: 2, Window: 5 * time.Second}
	for _, first := range []string{
		`redis.call('SET', KEYS[1], '0', 'PX', 5000, 'NX') local n = redis.call('INCR', KEYS[1])`,
		`local n = redis.call('INCR', KEYS[1]) redis.call('PEXPIRE', KEYS[1], 5000, 'NX')`,
		`local n = redis.call('INCR', KEYS[1]) redis.call('EXPIRE', KEYS[1], '5', 'nx')`,
	} {
		decides(t, first+` if n > 2 then return 0 end return 1`, limit, decided{0, true}, decided{900 * time.Millisecond, true},
			decided{4900 * time.Millisecond, false}, decided{5 * time.Second, true})
	}
}
