package lab_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/lab"
)

// plain is an algorithm by its definition, over all that it has admitted: no state is kept but that, and the fractions are exact.
// Instants and lengths are microseconds.
type plain struct {
	name            string
	limit, w, burst int64
	closed, below   bool
	times, costs    []int64
	amount          *big.Rat // tokens that are gone, or water, when it last changed; GCRA's backlog likewise
	at              int64
}

func (p *plain) inside(from, to int64) (n int64) { // (from, to]
	for i, t := range p.times {
		if t > from && t <= to {
			n += p.costs[i]
		}
	}
	return n
}

// used returns what counts at an instant. Of buckets and GCRA it is what has not drained.
func (p *plain) used(now int64) *big.Rat {
	switch p.name {
	case "fixed-window":
		return big.NewRat(p.inside(now/p.w*p.w-1, now), 1)
	case "sliding-log", "stream":
		from := now - p.w
		if p.closed {
			from--
		}
		return big.NewRat(p.inside(from, now), 1)
	case "gcra", "token-bucket", "leaky-bucket":
		drained := big.NewRat((now-p.at)*p.limit, p.w)
		if left := new(big.Rat).Sub(p.amount, drained); left.Sign() > 0 {
			return left
		}
		return new(big.Rat)
	}
	start := now / p.w * p.w
	before := big.NewRat(p.inside(start-p.w-1, start-1)*(p.w-(now-start)), p.w)
	floor := new(big.Int).Quo(before.Num(), before.Denom())
	switch {
	case strings.HasSuffix(p.name, "round"):
		half := new(big.Rat).Add(before, big.NewRat(1, 2))
		before.SetInt(new(big.Int).Quo(half.Num(), half.Denom()))
	case !strings.HasSuffix(p.name, "exact"):
		before.SetInt(floor)
	}
	return before.Add(before, big.NewRat(p.inside(start-1, now), 1))
}

func (p *plain) bursts() bool { return p.amount != nil }

// admits says whether a request would be admitted at an instant.
func (p *plain) admits(now, n int64) bool {
	if used := p.used(now); p.bursts() {
		return used.Add(used, big.NewRat(n, 1)).Cmp(big.NewRat(p.burst, 1)) <= 0
	} else if p.below {
		return n <= p.limit && used.Cmp(big.NewRat(p.limit, 1)) < 0
	} else {
		return used.Add(used, big.NewRat(n, 1)).Cmp(big.NewRat(p.limit, 1)) <= 0
	}
}

func (p *plain) admit(now, n int64) {
	if p.bursts() {
		p.amount, p.at = p.used(now), now
		p.amount.Add(p.amount, big.NewRat(n, 1))
	}
	p.times, p.costs = append(p.times, now), append(p.costs, n)
}

// TestExportsRecomputed recomputes the numbers of exported moments, of stories on random terms, by the definitions alone: the table of
// what was admitted, the arithmetic of one more request, what it comes to, and when the next one is admitted.
func TestExportsRecomputed(t *testing.T) {
	random := rand.New(rand.NewPCG(20, 26))
	numbers := 0
	for story := range 220 {
		setup := lab.Setup{
			Limit: limiter.Limit{Count: 1 + random.Int64N(30),
				Window: []time.Duration{time.Second, 2500 * time.Millisecond, 10 * time.Second, time.Minute}[random.IntN(4)]},
			Convention: limiter.Convention{
				Edge: convention.Edge(random.IntN(2)), Rule: convention.Rule(random.IntN(2)),
			},
			Cost: 1 + random.Int64N(3),
		}
		if random.IntN(3) == 0 {
			setup.Limit.Burst = 1 + random.Int64N(2*setup.Limit.Count)
		}
		w := setup.Limit.Window.Microseconds()
		setup.Zero = limiter.Instant(4_000_000_000_000_000).Floor(setup.Limit.Window)
		names := []string{"fixed-window", "sliding-log", "sliding-window", "sliding-window/exact", "sliding-window/round", "stream",
			"gcra", "token-bucket", "leaky-bucket"}
		var models []*plain
		for _, i := range random.Perm(len(names))[:4] {
			c, err := lab.ParseCandidate(names[i])
			if err != nil {
				t.Fatal(err)
			}
			p := &plain{name: names[i], limit: setup.Limit.Count, w: w, burst: setup.Limit.Burst,
				closed: setup.Convention.Edge == convention.Closed,
				below:  setup.Convention.Rule == convention.Below}
			if p.burst == 0 {
				p.burst = p.limit
			}
			if c.Algorithm.Bursts() {
				p.amount = new(big.Rat)
			}
			setup.Candidates, models = append(setup.Candidates, c), append(models, p)
		}
		var list []lab.Arrival
		at := setup.Zero
		for range 120 {
			if random.IntN(4) > 0 {
				at += limiter.Instant(random.Int64N(3 * w / setup.Limit.Count))
			}
			list = append(list, lab.Arrival{At: at, Cost: 1 + random.Int64N(2)})
		}
		run := lab.NewRun(setup, lab.NewWorkload(lab.Given(list)))
		for n, a := range list {
			run.Step()
			for _, p := range models {
				if p.admits(int64(a.At), a.Cost) {
					p.admit(int64(a.At), a.Cost)
				}
			}
			if n%15 != 14 {
				continue
			}
			more := limiter.Instant(random.Int64N(w / 3))
			if n+1 < len(list) {
				more = min(more, list[n+1].At-a.At-1)
			}
			if more > 0 {
				run.AdvanceTo(a.At + more)
			}
			text := lab.Markdown("A moment", run, nil)
			for i, p := range models {
				where := fmt.Sprintf("story %d, after %d requests, %s of %v, closed %v, below %v", story, n+1, p.name, setup.Limit,
					p.closed, p.below)
				numbers += p.table(t, where, text, list[:n+1])
				m := run.Ask(i, setup.Cost)
				numbers += p.working(t, where, m.Explain(), int64(run.Now()), int64(setup.Zero), setup.Cost)
				if m, ok := run.Inspect(i, n); ok {
					numbers += p.left(t, where, m.Explain(), int64(list[n].At))
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	if t.Logf("%d numbers", numbers); numbers < 20_000 {
		t.Errorf("%d numbers were recomputed, want 20000", numbers)
	}
}

// table holds a row of the table to what was admitted: requests, and in the last column the most units in any true window.
func (p *plain) table(t *testing.T, where, text string, all []lab.Arrival) int {
	t.Helper()
	var got [6]int64
	row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(p.name) + ` \|(.*)\|$`).FindStringSubmatch(text)
	if row == nil {
		t.Fatalf("%s: no row in\n%s", where, text)
	}
	for i, cell := range strings.Split(row[1], "|") {
		got[i], _ = strconv.ParseInt(strings.TrimSpace(cell), 10, 64)
	}
	want := [6]int64{int64(len(all)), int64(len(p.times)), int64(len(all) - len(p.times))}
	true := &plain{name: "sliding-log", limit: p.limit, w: p.w, closed: p.closed, below: p.below}
	next := 0
	for _, a := range all {
		admitted := next < len(p.times) && p.times[next] == int64(a.At) && p.costs[next] == a.Cost
		right := true.admits(int64(a.At), a.Cost)
		switch {
		case p.bursts():
		case admitted && !right:
			want[3]++
		case !admitted && right:
			want[4]++
		}
		if admitted {
			true.times, true.costs = append(true.times, int64(a.At)), append(true.costs, a.Cost)
			want[5] = max(want[5], true.inside(int64(a.At)-p.w, int64(a.At)))
			next++
		}
	}
	if got != want {
		t.Errorf("%s: the table has %v, want %v", where, got, want)
	}
	return len(got)
}

var (
	figureIn = regexp.MustCompile(`-?\d+(?:\.\d+)?`)
	sums     = regexp.MustCompile(`^([\d.]+)(?: T)? \+ (?:(\d+)(?: T)? \+ )?(\d+)(?: T)? = ([\d.]+)(?: T)? (<=|>) (\d+)(?: T)?$`)
	belows   = regexp.MustCompile(`([\d.]+) (<|>=) (\d+)$`)
	enough   = regexp.MustCompile(`^([\d.]+) tokens (>=|<) (\d+)$`)
	waits    = regexp.MustCompile(`^denied: next slot in ([\d.]+) s, at ([\d.]+) s$`)
	roomFor  = regexp.MustCompile(`^admitted: there is room for (\d+)$`)
)

func parsed(s string) float64 {
	v, _ := strconv.ParseFloat(s, 64)
	return v
}

// near reports whether a number as it is written is a value, rounded to the digits that it has.
func near(written string, value *big.Rat) bool {
	_, fraction, _ := strings.Cut(written, ".")
	digits := max(len(fraction), 3) // zeros at the end are left out
	v, _ := value.Float64()
	return math.Abs(parsed(written)-v) <= 0.5000001*math.Pow10(-digits)+1e-9
}

// working holds the arithmetic of one more request, and what is concluded from it, to what the definition says.
func (p *plain) working(t *testing.T, where string, got lab.Working, now, zero, n int64) (numbers int) {
	t.Helper()
	wrong := func(what string) {
		t.Errorf("%s, cost %d: %s in %q, %q; used %v", where, n, what, got.Numbers, got.Verdict, p.used(now))
	}
	used, allowed := p.used(now), p.admits(now, n)
	last := got.Numbers[len(got.Numbers)-1]
	numbers = len(figureIn.FindAllString(last, -1)) + len(figureIn.FindAllString(got.Verdict, -1))
	whole := big.NewRat(p.limit, 1)
	if p.bursts() {
		whole = big.NewRat(p.burst, 1)
	}
	if s := sums.FindStringSubmatch(last); s != nil {
		total := new(big.Rat).Add(used, big.NewRat(n, 1))
		printed := parsed(s[1]) + parsed(s[2]) + parsed(s[3])
		switch {
		case !near(s[4], total) || math.Abs(printed-parsed(s[4])) > 1e-9:
			wrong("the sum")
		case s[5] == "<=" != (parsed(s[4]) <= parsed(s[6])) || s[5] == "<=" != allowed ||
			big.NewRat(int64(parsed(s[6])), 1).Cmp(whole) != 0:
			wrong("the comparison")
		}
	} else if s := enough.FindStringSubmatch(last); s != nil {
		if left := new(big.Rat).Sub(whole, used); !near(s[1], left) || s[2] == ">=" != allowed || parsed(s[1]) >= parsed(s[3]) != allowed {
			wrong("the tokens")
		}
	} else if s := belows.FindStringSubmatch(last); s != nil && p.below {
		if !near(s[1], used) || s[2] == "<" != allowed || parsed(s[1]) < parsed(s[3]) != allowed {
			wrong("the comparison")
		}
	} else if !strings.Contains(last, "the cost is more than the limit") {
		wrong("a line that is not known")
	}
	switch s, r := waits.FindStringSubmatch(got.Verdict), roomFor.FindStringSubmatch(got.Verdict); {
	case allowed && r != nil:
		room, after := int64(parsed(r[1])), p.clone()
		for ; room > 0 && after.admits(now, 1); room-- {
			after.admit(now, 1)
		}
		if room != 0 || after.admits(now, 1) {
			wrong("the room")
		}
	case !allowed && s != nil:
		wait := int64(math.Round(parsed(s[1]) * 1e6))
		if !p.admits(now+wait, n) || p.admits(now+wait-1, n) || math.Abs(parsed(s[2])*1e6-float64(now-zero+wait)) > 0.5 {
			wrong("the wait")
		}
	case !allowed && strings.Contains(got.Verdict, "never"):
		if big.NewRat(n, 1).Cmp(whole) <= 0 {
			wrong("never")
		}
	default:
		wrong("the verdict")
	}
	return numbers
}

// weights are the lines in which a weighted counter is worked out.
var weights = regexp.MustCompile(`^weight = 1 - ([\d.]+) s/([\d.]+) s = ([\d.]+)\n(\d+) × ([\d.]+) = ([\d.]+)`)

// left holds what is said of a decision that was made, with the request in what is used now: the window and the weight of a
// counter, what room is left, and when nothing is used any more.
func (p *plain) left(t *testing.T, where string, got lab.Working, now int64) (numbers int) {
	t.Helper()
	if s := weights.FindStringSubmatch(strings.Join(got.Numbers, "\n")); s != nil {
		off := now % p.w
		previous := p.inside(now-off-p.w-1, now-off-1)
		numbers += 5
		if math.Round(parsed(s[1])*1e6) != float64(off) || math.Round(parsed(s[2])*1e6) != float64(p.w) ||
			parsed(s[4]) != float64(previous) || s[3] != s[5] ||
			!near(s[6], big.NewRat(previous*(p.w-off), p.w)) || math.Abs(parsed(s[3])*parsed(s[4])-parsed(s[6])) > 0.00051 {
			t.Errorf("%s: %q at %d of %d, %d before", where, s[0], off, p.w, previous)
		}
	}
	s := regexp.MustCompile(`^admitted: room for (\d+) is left, as new in ([\d.]+) s$`).FindStringSubmatch(got.Verdict)
	if s == nil {
		return numbers
	}
	exact, room, after := *p, int64(parsed(s[1])), p.clone()
	if strings.HasPrefix(p.name, "sliding-window") {
		exact.name = "sliding-window/exact"
	}
	for ; room > 0 && after.admits(now, 1); room-- {
		after.admit(now, 1)
	}
	new := now + int64(math.Round(parsed(s[2])*1e6))
	if room != 0 || after.admits(now, 1) || exact.used(new).Sign() != 0 || exact.used(new-1).Sign() == 0 {
		t.Errorf("%s: %q; %v used at %d, %v at the end", where, got.Verdict, p.used(now), now, exact.used(new))
	}
	return numbers + 2
}

func (p *plain) clone() *plain {
	c := *p
	c.times, c.costs = append([]int64(nil), p.times...), append([]int64(nil), p.costs...)
	if p.amount != nil {
		c.amount = new(big.Rat).Set(p.amount)
	}
	return &c
}
