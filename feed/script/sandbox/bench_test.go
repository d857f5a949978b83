package sandbox_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/feed/script"
	"ratescope/feed/script/sandbox"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/bench"
)

var expectation = regexp.MustCompile(`(?m)^-- bench: (\S+);(.*)$`)

// known are findings of scripts that are expected: faults, and notes behind ~.
func known(t *testing.T, text string) (algorithm string, faults, notes []string) {
	t.Helper()
	m := expectation.FindStringSubmatch(text)
	if m == nil {
		t.Fatal("the script does not say what is wrong with it")
	}
	for _, word := range strings.Fields(m[2]) {
		if note, ok := strings.CutPrefix(word, "~"); ok {
			notes = append(notes, note)
		} else {
			faults = append(faults, word)
		}
	}
	return m[1], faults, notes
}

// textOf returns a script.
func textOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func check(t *testing.T, text string, limit limiter.Limit) bench.Report {
	t.Helper()
	call, said, err := script.Head(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.New(sandbox.Script{Text: text, Call: call, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cost := slices.Contains(call.Args, "{cost}")
	r, err := bench.Check(s, bench.Options{Limit: limit, Cost: cost, CostAsked: said && cost})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestScripts: each fault of the scripts is found, and none is invented. It prints precision and recall.
func TestScripts(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.lua")
	if err != nil || len(names) < 25 {
		t.Fatalf("%d scripts, %v", len(names), err)
	}
	reports := make([]bench.Report, len(names))
	t.Run("check", func(t *testing.T) { // ends when all are checked
		for i, name := range names {
			t.Run(strings.TrimSuffix(filepath.Base(name), ".lua"), func(t *testing.T) {
				t.Parallel()
				reports[i] = check(t, textOf(t, name), limiter.Limit{Count: 10, Window: 10 * time.Second})
			})
		}
	})
	var right, invented, missed, named, ran int
	byID := map[string]*[3]int{} // found, missed, invented
	count := func(id string, what int) {
		if byID[id] == nil {
			byID[id] = new([3]int)
		}
		byID[id][what]++
	}
	for i, name := range names {
		r := &reports[i]
		if r.Requests == 0 { // it was not asked for
			continue
		}
		ran++
		algorithm, faults, notes := known(t, textOf(t, name))
		if r.Name() == algorithm {
			named++
		} else {
			t.Errorf("%s: it is a %s (%+v), named %s", name, algorithm, r.Identity, r.Name())
		}
		for _, f := range r.Findings {
			switch id := string(f.ID); {
			case f.Fault && slices.Contains(faults, id):
				right++
				count(id, 0)
			case f.Fault:
				invented++
				count(id, 2)
				t.Errorf("%s: invented: %+v", name, f)
			case !slices.Contains(notes, id) && id != "cost-ignored" && id != "clock-back":
				t.Errorf("%s: a note that was not expected: %+v", name, f)
			}
		}
		for _, id := range append(faults, notes...) {
			if !slices.ContainsFunc(r.Findings, func(f bench.Finding) bool {
				return string(f.ID) == id &&
					f.Fault == slices.Contains(faults, id)
			}) {
				missed++
				count(id, 1)
				t.Errorf("%s: missed: %s", name, id)
			}
		}
		t.Logf("%s: %s %v, worst %d: %s, %d requests", name, r.Name(), r.Limit, r.Worst.Admitted, bench.Words(r.Worst.Steps), r.Requests)
		for _, f := range r.Findings {
			t.Logf("  %v %s: %s [%s]", f.Fault, f.ID, f.Text, bench.Words(f.Steps))
		}
	}
	t.Logf("%d scripts: %d named; faults found %d, invented %d (precision %.2f), missed %d (recall %.2f)", len(names), named,
		right, invented,
		float64(right)/float64(max(right+invented, 1)), missed, float64(right)/float64(max(right+missed, 1)))
	if ran == len(names) {
		documented(t, len(names), byID)
	}
}

// documented holds the table of docs/check.md to what was found.
func documented(t *testing.T, scripts int, byID map[string]*[3]int) {
	t.Helper()
	content, err := os.ReadFile("../../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	var all [3]int
	row := func(name string, n [3]int) string {
		share := func(of int) string { return fmt.Sprintf("%.2f", float64(n[0])/float64(max(n[0]+of, 1))) }
		return fmt.Sprintf("| %s | %d | %d | %d | %s | %s |\n", name, n[0], n[1], n[2], share(n[2]), share(n[1]))
	}
	table := "| finding | found | missed | invented | precision | recall |\n|---|---|---|---|---|---|\n"
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		table += row(id, *byID[id])
		for i := range all {
			all[i] += byID[id][i]
		}
	}
	table += row("all", all)
	if !strings.Contains(string(content), table) || !strings.Contains(string(content), fmt.Sprintf("%d scripts", scripts)) {
		t.Errorf("docs/check.md does not say of %d scripts:\n%s", scripts, table)
	}
}

// TestUnbounded: what is admitted without a bound is said to be a lower one; its shortest traffic is one more than the limit.
func TestUnbounded(t *testing.T) {
	for name, unbounded := range map[string]bool{"log-member-time": true, "log-seconds": true, "admits-all": true, "log": false, "incr-expire": false} {
		text, err := os.ReadFile("testdata/" + name + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		r := check(t, string(text), limiter.Limit{Count: 10, Window: 10 * time.Second})
		if r.Worst.AtLeast != unbounded {
			t.Errorf("%s: at least is %v, of %d", name, r.Worst.AtLeast, r.Worst.Admitted)
		}
		content, err := r.MarshalJSON()
		if err != nil || strings.Contains(string(content), `"at_least":true`) != unbounded {
			t.Errorf("%s: %s, %v", name, content, err)
		}
		for _, f := range r.Findings {
			if n := f.Steps[len(f.Steps)-1].N; f.ID == bench.OverAdmits && (len(f.Steps) != 1 || n != 11) {
				t.Errorf("%s: shown by %s", name, bench.Words(f.Steps))
			}
		}
	}
}

// TestShortest: a finding is shown by the fewest requests since the key was new, at round times.
func TestShortest(t *testing.T) {
	for _, c := range []struct {
		name  string
		id    bench.ID
		words string
	}{
		{"denies-by-error", bench.Fails, "11 at 0 s"},
		{"counter-marked", bench.Fails, "12 at 0 s"},
		{"bucket-either-way", bench.ClientClock, "10 at 0 s, 1 at 10 s"},
		{"log-charged", bench.Grows, "10 at 0 s, 1 at 0.001 s, 1 at 0.002 s"},
		{"gcra-cost-ignored", bench.CostIgnored, "1 at 0 s of cost 3, 8 at 0 s"},
		{"window-key", bench.ClockBack, "10 at 10 s, 1 at 0 s"},
	} {
		text, err := os.ReadFile("testdata/" + c.name + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		r := check(t, string(text), limiter.Limit{Count: 10, Window: 10 * time.Second})
		i := slices.IndexFunc(r.Findings, func(f bench.Finding) bool { return f.ID == c.id })
		if i < 0 || bench.Words(r.Findings[i].Steps) != c.words {
			t.Errorf("%s: %+v, not %s by %s", c.name, r.Findings, c.id, c.words)
		}
	}
}

// TestSeveralLimits: of two limits in one script the one that it is told is named, and the other beside it; neither is a fault.
func TestSeveralLimits(t *testing.T) {
	t.Parallel()
	checked := `for i = 1, 2 do if tonumber(redis.call('GET', KEYS[i]) or '0') >= tonumber(ARGV[2 * i - 1]) then return 0 end end
for i = 1, 2 do if redis.call('INCR', KEYS[i]) == 1 then redis.call('EXPIRE', KEYS[i], ARGV[2 * i]) end end
return 1`
	clock := `local over = 1
for i = 1, 3, 2 do
  local k = KEYS[1] .. ARGV[i + 2] .. ':' .. math.floor(ARGV[1] / ARGV[i + 2])
  redis.call('EXPIRE', k, redis.call('INCR', k) + ARGV[i + 2] * 2)
  if tonumber(redis.call('GET', k)) > tonumber(ARGV[i + 1]) then over = 0 end
end
return over`
	buckets := `local now, levels = tonumber(ARGV[1]), {}
for i = 1, 2 do
  local h = redis.call('HMGET', KEYS[i], 't', 'at')
  local t = (tonumber(h[1]) or ARGV[2 * i]) + (now - (tonumber(h[2]) or now)) * ARGV[2 * i] / ARGV[2 * i + 1] / 1000
  levels[i] = math.min(ARGV[2 * i], t)
  if t < 1 then return 0 end
end
for i = 1, 2 do
  redis.call('HSET', KEYS[i], 't', levels[i] - 1, 'at', now)
  redis.call('PEXPIRE', KEYS[i], 120000)
end
return 1`
	of := func(n int64, w time.Duration) limiter.Limit { return limiter.Limit{Count: n, Window: w} }
	for name, c := range map[string]struct {
		keys, args, text string
		told, beside     limiter.Limit
		undeclared       bool
	}{
		"the looser is told":   {"a:{who} b:{who}", "{limit} {window_s} 5 1", checked, of(60, time.Minute), of(5, time.Second), false},
		"the stricter is told": {"a:{who} b:{who}", "{limit} {window_s} 60 60", checked, of(5, time.Second), of(60, time.Minute), false},
		"by the clock":         {"rl:{who}:", "{now_s} {limit} {window_s} 5 1", clock, of(40, 20*time.Second), of(5, time.Second), true},
		"buckets":              {"a:{who} b:{who}", "{now_ms} {limit} {window_s} 5 1", buckets, of(60, time.Minute), of(5, time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := check(t, "-- ratescope: keys "+c.keys+"; args "+c.args+"\n"+c.text, c.told)
			o := r.Identity.Beside
			if !r.Identity.Exact || o == nil || r.Limit.Count != c.told.Count || r.Limit.Window != c.told.Window {
				t.Fatalf("named %s %v, %+v", r.Name(), r.Limit, r.Identity)
			}
			if r.Name() != o.Algorithm.String() || rate(o.Limit, c.beside.Window) != c.beside.Count {
				t.Errorf("beside a %s of %v", o.Algorithm, o.Limit)
			}
			if most := 2*c.told.Count - 1; c.text == checked && r.Worst.Admitted != most {
				t.Errorf("worst %d, not %d: %s", r.Worst.Admitted, most, bench.Words(r.Worst.Steps))
			}
			for _, f := range r.Findings {
				if f.Fault && !(c.undeclared && f.ID == bench.UndeclaredKey) {
					t.Errorf("invented: %+v", f)
				}
			}
		})
	}
}

// rate is how many a limit admits in so long.
func rate(l limiter.Limit, w time.Duration) int64 { return int64(w) * l.Count / int64(l.Window) }

// TestShiftedClock: a time since another year than 1970 is no count, whatever its unit.
func TestShiftedClock(t *testing.T) {
	text, err := os.ReadFile("testdata/gcra-float.lua")
	if err != nil {
		t.Fatal(err)
	}
	if r := check(t, string(text), limiter.Limit{Count: 100, Window: time.Minute}); r.Name() != "gcra" || !r.OK() {
		t.Errorf("named %s, %+v", r.Name(), r.Findings)
	}
}

// TestOfOne: under a limit of one, where many algorithms answer alike, a script is named by what it stores under a greater one;
// a stream that is trimmed by whole nodes does not grow.
func TestOfOne(t *testing.T) {
	window := `local h = redis.call('HMGET', KEYS[1], 'count', 'start')
local count, start, now = tonumber(h[1]) or 0, tonumber(h[2]) or 0, tonumber(ARGV[3])
if now - start >= tonumber(ARGV[2]) then count, start = 0, now end
if count >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'count', count + 1, 'start', start)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`
	interval := `local now, every = tonumber(ARGV[3]), ARGV[2] / ARGV[1]
local tat = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now))
if tat + every - now > tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], tat + every, 'PX', math.ceil(tat + every - now))
return 1`
	for text, name := range map[string]string{window: "fixed-window", interval: "gcra"} {
		for _, limit := range []limiter.Limit{{Count: 1, Window: time.Second}, {Count: 10, Window: 10 * time.Second}} {
			if r := check(t, text, limit); r.Name() != name || !r.OK() || r.Worst.Admitted < limit.Count {
				t.Errorf("%v: named %s, %+v", limit, r.Name(), r.Findings)
			}
		}
	}
	limit := limiter.Limit{Count: 3, Window: time.Second}
	for _, a := range []limiter.Algorithm{limiter.StreamCounter, limiter.FixedWindow} {
		terms := limiter.Convention{Alignment: convention.FirstRequest}
		here, err := sandbox.New(own(t, a, terms, limit))
		if err != nil {
			t.Fatal(err)
		}
		defer here.Close()
		r, err := bench.Check(here, bench.Options{Limit: limit})
		if err != nil || r.Name() != a.String() || len(r.Findings) > 0 {
			t.Errorf("%s: named %s, %+v, %v", a, r.Name(), r.Findings, err)
		}
		for _, s := range r.Worst.Steps {
			if s.At%(100*time.Millisecond) != 0 {
				t.Errorf("%s: not at round times: %s", a, bench.Words(r.Worst.Steps))
			}
		}
	}
}

// TestLargeTrim: how much one request removes is told with the costs, and is no finding.
func TestLargeTrim(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/log.lua")
	if err != nil {
		t.Fatal(err)
	}
	r := check(t, string(text), limiter.Limit{Count: 1000, Window: time.Minute})
	if r.Trim == nil || r.Trim.Entries < 900 || len(r.Trim.Steps) == 0 || !r.OK() {
		t.Errorf("trim %+v, %+v", r.Trim, r.Findings)
	}
}
