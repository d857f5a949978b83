package lab_test

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	engine "ratescope/model/lab"
	"ratescope/tui/lab"
	"ratescope/tui/tuitest"
)

// leastNumbers is how many numbers of frames are compared at least.
const leastNumbers = 2000

// TestFramesAgainstTheReference fires at random into the lessons, by keys, and reads every
// number of the lanes off the frames: tallies, sums, waits, weights, levels. Each has to
// be that of a second model which reckons in fractions, and the sums have to add up as
// they are written.
func TestFramesAgainstTheReference(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(16, 1))
	numbers, sums := 0, 0
	all := engine.Lessons()
	for i, l := range all {
		if len(l.Traffic) > 0 { // a crowd
			n, s := checkCrowd(t, l, i, random)
			numbers, sums = numbers+n, sums+s
			continue
		}
		for round := range 2 {
			f := newFrames(t, l, i)
			if round == 1 {
				f.press("w", "right", "right", "right", "esc") // another limit, whose interval is no whole number
			}
			for range 14 {
				f.act(random)
				n, s := f.check()
				numbers, sums = numbers+n, sums+s
			}
		}
	}
	t.Logf("%d numbers and %d sums compared", numbers, sums)
	if numbers < leastNumbers || sums < 100 {
		t.Errorf("%d numbers and %d sums were compared, want %d and 100 at least", numbers, sums, leastNumbers)
	}
}

// crowdPart is how much of a crowd's story is checked: the reference begins anew for every number.
const crowdPart = 3

// checkCrowd does the same with a lesson whose requests come from a crowd that reacts to every
// lane: what arrives at a lane is taken from the story, what becomes of it is not.
func checkCrowd(t *testing.T, l engine.Lesson, i int, random *rand.Rand) (numbers, sums int) {
	f := newFrames(t, l, i)
	w := l.Limit.Window.Microseconds()
	for range 6 {
		f.goTo(f.now + 1 + random.Int64N(w/crowdPart/1000)*1000)
		if random.IntN(2) == 0 {
			f.press("space")
		}
		n, s := f.check()
		numbers, sums = numbers+n, sums+s
	}
	return numbers, sums
}

// frames drives a lesson by keys and knows what was fired.
type frames struct {
	t      *testing.T
	m      tea.Model
	lesson engine.Lesson
	given  []request
	now    int64
	fired  []request // of cost 1, in the order of time
	limit  int64

	arrived func() []engine.Arrival // in a story with a crowd
}

func newFrames(t *testing.T, l engine.Lesson, first int) *frames {
	l.Plain = false // the sums are what is compared
	app, arrived, err := lab.NewStory(context.Background(), lab.Options{Lessons: []engine.Lesson{l}})
	if err != nil {
		t.Fatal(err)
	}
	f := &frames{t: t, m: app, lesson: l, limit: l.Limit.Count}
	if len(l.Traffic) > 0 {
		f.arrived = arrived
	}
	for _, step := range l.Steps[:l.Given] {
		for range step.Repeat {
			f.given = append(f.given, request{step.At.Microseconds(), step.Cost})
		}
	}
	f.m, _ = f.m.Update(tea.WindowSizeMsg{Width: 200, Height: 66})
	f.press("C")
	return f
}

func (f *frames) press(keys ...string) {
	for _, key := range keys {
		var cmd tea.Cmd
		f.m, cmd = f.m.Update(tuitest.Key(key))
		for cmd != nil { // a seek in parts
			msg := cmd()
			if _, batch := msg.(tea.BatchMsg); batch || msg == nil {
				break
			}
			f.m, cmd = f.m.Update(msg)
		}
	}
}

// act goes on by a random time and fires.
func (f *frames) act(random *rand.Rand) {
	w := f.lesson.Limit.Window.Microseconds()
	switch random.IntN(4) {
	case 0:
		f.now = (f.now/w + 1) * w // to an edge
	case 1:
		f.now += 1 + random.Int64N(w/20) // a little, to the microsecond
	default:
		f.now += random.Int64N(w/1000) * 1000
	}
	f.goTo(f.now)
	for range random.IntN(5) {
		f.press("space")
		f.fired = append(f.fired, request{f.now, 1})
	}
}

// goTo enters a moment.
func (f *frames) goTo(at int64) {
	f.now = at
	f.press("g")
	f.m, _ = f.m.Update(tea.PasteMsg{Content: fmt.Sprintf("%dus", f.now)}) // a picture after every digit shows nothing
	f.press("enter")
}

// frame returns what can be read.
func (f *frames) frame() string { return ansi.Strip(f.m.View().Content) }

// references decide about everything that has come so far.
func (f *frames) references() []*reference {
	s := f.lesson.Setup()
	if m := regexp.MustCompile(`limit (\d+) in`).FindStringSubmatch(f.frame()); m != nil {
		s.Limit.Count, _ = strconv.ParseInt(m[1], 10, 64)
	}
	var list []*reference
	for i, c := range s.Candidates {
		r := newReference(c, s)
		if f.arrived != nil {
			for _, a := range f.arrived() {
				if a.Only == 0 || int(a.Only) == i+1 {
					r.take(int64(a.At-s.Zero), a.Cost)
				}
			}
			list = append(list, r)
			continue
		}
		g, k := f.given, 0
		for k < len(f.fired) || len(g) > 0 && g[0].at <= f.now {
			if len(g) > 0 && (k == len(f.fired) || g[0].at <= f.fired[k].at) {
				r.take(g[0].at, g[0].n)
				g = g[1:]
				continue
			}
			r.take(f.fired[k].at, f.fired[k].n)
			k++
		}
		list = append(list, r)
	}
	return list
}

var (
	laneTitle  = regexp.MustCompile(` (\d+) admitted (\d+) denied(?: ▲(\d+))?(?: ▼(\d+))?(?: most in any \S+: (\d+) of (\d+))?`)
	roomFor    = regexp.MustCompile(`room for (\d+)`)
	slotIn     = regexp.MustCompile(`next slot in ([\d.]+) s`)
	sumLine    = regexp.MustCompile(`[✓✖] ([\d.]+)(?: T)?(?: \+ (\d+))? \+ (\d+)(?: T)? = ([\d.]+)(?: T)? (<=|>) (\d+)`)
	tokensLine = regexp.MustCompile(`[✓✖] ([\d.]+) tokens (>=|<) (\d+)`)
	fadedBar   = regexp.MustCompile(`previous +(\d+) .*× ([\d.]+) = ([\d.]+)`)
	currentBar = regexp.MustCompile(`current +(\d+) .*edge in ([\d.]+) s`)
	estimated  = regexp.MustCompile(`estimate +([\d.]+) `)
	inWindow   = regexp.MustCompile(`in window +(\d+) `)
	tatBar     = regexp.MustCompile(`TAT +([\d.]+) T.* ([\d.]+) s ahead`)
)

// check compares every number of every lane on screen and returns how many there were,
// and how many sums.
func (f *frames) check() (numbers, sums int) {
	f.t.Helper()
	text := f.frame()
	before, _, _ := strings.Cut(text, "╭▌why")
	chunks := laneTitle.FindAllStringIndex(before, -1)
	list := f.references()
	if len(chunks) != len(list) {
		f.t.Fatalf("%s: %d lanes for %d algorithms:\n%s", f.lesson.ID, len(chunks), len(list), text)
	}
	for i, r := range list {
		if r.candidate.Scripted() { // model/lab recomputes the assemblies
			continue
		}
		end := len(before)
		if i+1 < len(chunks) {
			end = strings.LastIndexByte(before[:chunks[i+1][0]], '\n')
		}
		c := checker{f: f, r: r, text: before[chunks[i][0]:end]}
		c.title()
		c.picture()
		c.sum()
		c.verdict()
		numbers, sums = numbers+c.numbers, sums+c.sums
	}
	return numbers, sums
}

// checker compares one lane.
type checker struct {
	f             *frames
	r             *reference
	text          string
	numbers, sums int
}

// is compares a number of the frame with what it should be, to the decimals it has.
func (c *checker) is(what, shown string, want *big.Rat) {
	c.f.t.Helper()
	c.numbers++
	_, fraction, _ := strings.Cut(shown, ".")
	half := new(big.Rat).SetFrac(big.NewInt(1),
		new(big.Int).Mul(big.NewInt(2), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(len(fraction), 3))), nil)))
	got, ok := new(big.Rat).SetString(shown)
	if !ok || new(big.Rat).Abs(new(big.Rat).Sub(got, want)).Cmp(half) > 0 {
		c.f.t.Fatalf("%s, %s at %v: %s is %s on screen, reckoned %s\n%s", c.f.lesson.ID, c.r.candidate,
			time.Duration(c.f.now)*time.Microsecond, what, shown, want.FloatString(9), c.f.frame())
	}
}

func (c *checker) find(expression *regexp.Regexp) []string {
	return expression.FindStringSubmatch(c.text)
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

func (c *checker) title() {
	m, t := c.find(laneTitle), c.r.tally
	for i, want := range []int64{t.admitted, t.denied, t.wrongIn, t.wrongOut} {
		c.is([]string{"admitted", "denied", "wrongly admitted", "wrongly denied"}[i], orZero(m[i+1]), rat(want))
	}
	if m[5] != "" {
		c.is("most in a window", m[5], rat(t.most))
		c.is("the limit", m[6], rat(c.r.limit.Count))
	}
}

// at is the time that the algorithm would take for now.
func (c *checker) at() int64 { return c.r.heard(c.f.now, len(c.r.requests)) }

func (c *checker) picture() {
	w, at := c.r.window(), c.f.now
	if m := c.find(inWindow); m != nil {
		c.is("in window", m[1], c.r.used(c.at()))
	}
	if c.r.candidate.Algorithm == limiter.SlidingWindow {
		previous, current, weight, estimate := c.r.sliding(at)
		if m := c.find(fadedBar); m != nil {
			c.is("previous", m[1], rat(previous))
			c.is("weight", m[2], weight)
			c.is("previous × weight", m[3], new(big.Rat).Mul(rat(previous), weight))
		}
		if m := c.find(currentBar); m != nil {
			c.is("current", m[1], rat(current))
		}
		if m := c.find(estimated); m != nil {
			c.is("estimate", m[1], estimate)
		}
	}
	if m := c.find(currentBar); m != nil && c.r.terms.Alignment == convention.Epoch {
		c.is("edge in", m[2], big.NewRat(w-at%w, 1_000_000))
	}
	if m := c.find(tatBar); m != nil {
		steps := c.r.used(at)
		c.is("TAT in T", m[1], steps)
		c.is("TAT ahead", m[2], ceilMicros(new(big.Rat).Mul(steps, big.NewRat(w, c.r.limit.Count))))
	}
}

// ceilMicros rounds microseconds up and returns seconds.
func ceilMicros(v *big.Rat) *big.Rat {
	q, rest := new(big.Int).DivMod(v.Num(), v.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return new(big.Rat).SetFrac(q, big.NewInt(1_000_000))
}

// sum compares the line that decides, and adds it up as it is written.
func (c *checker) sum() {
	used := c.r.used(c.at())
	if m := c.find(tokensLine); m != nil {
		c.sums++
		tokens := new(big.Rat).Sub(rat(c.r.burst()), used)
		c.is("tokens", m[1], tokens)
		shown, _ := new(big.Rat).SetString(m[1])
		if enough := shown.Cmp(rat(1)) >= 0; enough != (m[2] == ">=") || enough != c.r.fits(c.at(), 1) {
			c.f.t.Fatalf("%q is false:\n%s", m[0], c.f.frame())
		}
		return
	}
	m := c.find(sumLine)
	if m == nil {
		if c.r.limit.Count > 0 {
			c.f.t.Fatalf("%s: no line decides:\n%s\n%s", c.r.candidate, c.text, c.f.frame())
		}
		return
	}
	c.sums++
	total := new(big.Rat)
	for _, part := range []string{m[1], orZero(m[2]), m[3]} {
		v, _ := new(big.Rat).SetString(part)
		total.Add(total, v)
	}
	written, _ := new(big.Rat).SetString(m[4])
	limit, _ := new(big.Rat).SetString(m[6])
	if total.Cmp(written) != 0 || (written.Cmp(limit) <= 0) != (m[5] == "<=") || (m[5] == "<=") != c.r.fits(c.at(), 1) {
		c.f.t.Fatalf("%q is false:\n%s", m[0], c.f.frame())
	}
	c.is("the sum", m[4], used.Add(used, rat(1)))
	c.is("the limit", m[6], rat(c.r.burst()))
}

func (c *checker) verdict() {
	if m := c.find(roomFor); m != nil {
		c.is("room", m[1], rat(c.r.room(c.f.now)))
	}
	if m := c.find(slotIn); m != nil {
		c.is("the wait", m[1], big.NewRat(c.r.wait(c.f.now).Microseconds(), 1_000_000))
	}
}
