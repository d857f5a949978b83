package events_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/report"
	"ratescope/themes"
	"ratescope/tui"
	"ratescope/tui/events"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// alone is the log as the only screen of a program, on a clock of the test.
type alone struct {
	testing.TB
	app  *shell.App
	feed *tuitest.Feed
	now  time.Time
	edit func(*model.Batch) // changes what the feed says; may be nil
}

// newAlone returns the log of a feed; nothing has happened yet.
func newAlone(t testing.TB, w, h int, people ...tuitest.Personality) *alone {
	t.Helper()
	app, err := shell.New(t.Context(), shell.Options{Shelf: themes.BuiltIn()})
	if err != nil {
		t.Fatal(err)
	}
	app.Register("events", "shows the events", events.New(session.New(app, session.Options{})))
	a := &alone{TB: t, app: app, now: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
	a.feed = tuitest.NewFeed(a.now, people...)
	app.Update(tea.WindowSizeMsg{Width: w, Height: h})
	return a
}

// run lets time pass.
func (a *alone) run(d time.Duration) {
	for end := a.now.Add(d); a.now.Before(end); {
		a.now = a.now.Add(tuitest.Refresh)
		b := a.feed.Advance(a.now)
		if a.edit != nil {
			a.edit(&b)
		}
		a.app.Update(session.BatchMsg(b))
		a.app.View()
		a.app.Update(shell.TickAt(a.now))
	}
}

func (a *alone) press(names ...string) {
	for _, name := range names {
		a.app.Update(tuitest.Key(name))
		a.app.View()
	}
}

func (a *alone) text() string { return ansi.Strip(a.app.View().Content) }

func (a *alone) see(wants ...string) {
	a.Helper()
	text := a.text()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			a.Errorf("%q is not on screen:\n%s", want, text)
		}
	}
}

// TestEventsFilterAndMeasure: / lists only what fits, a throttled key says for how long, and the
// lanes show the keys of the events that are listed.
func TestEventsFilterAndMeasure(t *testing.T) {
	s := newAlone(t, 140, 42, tuitest.Cast()...)
	s.run(40 * time.Second)
	s.see("lanes", "is throttled on and off, ", "now")
	if !strings.Contains(s.text(), "s now") && !strings.Contains(s.text(), "throttled for ") {
		t.Errorf("no event says how long it lasted:\n%s", s.text())
	}
	s.press("/", "o", "t", "p")
	s.see("login:otp", "fit /otp")
	if strings.Contains(s.text(), "metrics:ingest  ") {
		t.Errorf("an event that does not fit is listed:\n%s", s.text())
	}
	s.press("esc", "/", "n", "e", "a", "r", "enter")
	s.see("came near its limit, ")
	if strings.Contains(s.text(), "is throttled") {
		t.Errorf("the words of an event are not filtered:\n%s", s.text())
	}
	s.press("esc", "/", "x", "y", "z", "z", "enter")
	s.see("No event fits the filter")
	s.press("esc", "esc")
}

// TestFewEventsLeaveNoPaneEmpty: soon after a start, and while nothing happens, the key of the selected event or of the selected
// row stands below the log, and the lanes show all keys.
func TestFewEventsLeaveNoPaneEmpty(t *testing.T) {
	calm := tuitest.Every()[:3]
	for i := range calm {
		calm[i].Rate = func(float64, *rand.Rand) int { return 0 }
	}
	for what, people := range map[string][]tuitest.Personality{"busy": tuitest.Cast(), "calm": calm} {
		for _, size := range [][2]int{{140, 42}, {200, 55}} {
			s := newAlone(t, size[0], size[1], people...)
			s.run(6 * time.Second)
			lines := strings.Split(s.text(), "\n")
			half := strings.Join(lines[len(lines)/2:], "\n")
			for _, want := range []string{" · at 09:00:0", "room for ", "used "} {
				if !strings.Contains(half, want) {
					t.Errorf("%s at %v: %q is not in the lower half:\n%s", what, size, want, s.text())
				}
			}
			_, lanes, _ := strings.Cut(s.text(), "lanes ")
			for _, p := range people {
				if name := p.Name[strings.LastIndex(p.Name, ":")+1:]; !strings.Contains(lanes, name[max(len(name)-8, 0):]) {
					t.Errorf("%s at %v: %s has no lane:\n%s", what, size, p.Name, s.text())
				}
			}
		}
	}
}

// TestAnEventSaysWhatWas: a key that is free again was throttled, and by which limit.
func TestAnEventSaysWhatWas(t *testing.T) {
	s := newAlone(t, 140, 42, tuitest.Cast()...)
	still := regexp.MustCompile(`✖ (\S+) +is throttled( by \d+ in \S+, for| on and off).* now`)
	was := regexp.MustCompile(`✖ \S+ +was throttled by \d+ in \S+ for `)
	past := 0
	for range 60 {
		s.run(500 * time.Millisecond)
		text := s.text()
		past += len(was.FindAllString(text, -1))
		for _, m := range still.FindAllStringSubmatch(text, -1) {
			if name := m[1][len(m[1])-6:]; !regexp.MustCompile(`│ ✖ \S*` + regexp.QuoteMeta(name)).MatchString(text) {
				t.Fatalf("%s is throttled now, and its lane has another mark:\n%s", m[1], text)
			}
		}
	}
	if past == 0 {
		t.Errorf("no key was throttled:\n%s", s.text())
	}
}

// TestHowLongAKeyWasThrottledStands: what the row of an episode says does not change once the key is free, until it is throttled
// again, however long an episode waits for that, and where the key leaves or many become free at once.
func TestHowLongAKeyWasThrottledStands(t *testing.T) {
	is := regexp.MustCompile(`(\d\d:\d\d:\d\d\.\d+ ✖ \S+) +is throttled`)
	was := regexp.MustCompile(`(\d\d:\d\d:\d\d\.\d+ ✖ \S+) +(was throttled.*?) *│`)
	for keys, windows := range map[int][]time.Duration{1: {4 * time.Second, 2 * time.Minute}, 20: {20 * time.Second}} {
		for _, window := range windows {
			people := make([]tuitest.Personality, keys)
			for i := range people {
				people[i] = tuitest.Cast()[0]
				people[i].Name, people[i].How = fmt.Sprintf("k%02d", i), limiter.FixedWindow
				people[i].Limit = limiter.Limit{Count: 10, Window: window}
				people[i].Rate = func(passed float64, _ *rand.Rand) int { return 0 }
			}
			s := newAlone(t, 140, 60, people...)
			throttled, gone := map[string]bool{}, false
			s.edit = func(b *model.Batch) {
				second := s.now.Second() % 40
				for i := range b.Readings {
					r := &b.Readings[i]
					r.State = limiter.State{Algorithm: limiter.FixedWindow, Start: r.At.Floor(window), Current: 1}
					if throttled[r.Key] = second >= 10+i/4 && second < 14 || second == 16 && i == 0; throttled[r.Key] {
						r.State.Current = 10
					}
				}
				if gone = gone || s.now.Minute() == 1; gone {
					b.Gone, b.Readings = append(b.Gone, "k00"), b.Readings[1:]
				}
			}
			said, rows := map[string]string{}, 0
			for range 90 * 5 {
				s.run(tuitest.Refresh)
				text := s.text()
				for _, m := range is.FindAllStringSubmatch(text, -1) {
					delete(said, m[1])
				}
				for _, m := range was.FindAllStringSubmatch(text, -1) {
					if before := said[m[1]]; before != "" && before != m[2] {
						t.Fatalf("%v, %d keys: %s: %q became %q:\n%s", window, keys, m[1], before, m[2], text)
					}
					said[m[1]] = m[2]
					rows++
				}
			}
			if rows == 0 {
				t.Errorf("%v, %d keys: no key was throttled:\n%s", window, keys, s.text())
			}
		}
	}
}

// TestKeysThatComeAndGoAreOneEvent a pattern and minute, unless they are looked for.
func TestKeysThatComeAndGoAreOneEvent(t *testing.T) {
	s := newAlone(t, 140, 42)
	s.run(time.Second)
	came := 0
	s.edit = func(b *model.Batch) {
		for i := range came {
			r := b.Readings[0]
			r.Key = fmt.Sprintf("short:lived:%d", i)
			b.Readings = append(b.Readings, r)
		}
	}
	for s.now.Second() > 1 { // the keys come within a minute
		s.run(time.Second)
	}
	for came < 4 {
		came++
		s.run(12 * time.Second)
	}
	s.see("4 keys short:lived:*", "appeared")
	s.press("/")
	for _, letter := range "lived" {
		s.press(string(letter))
	}
	s.see("short:lived:0", "short:lived:3")
}

// TestSickKeysAreOneEvent a pattern, minute and reason, unless they are looked for.
func TestSickKeysAreOneEvent(t *testing.T) {
	s := newAlone(t, 140, 42)
	s.edit = func(b *model.Batch) {
		for i := range 42 {
			r := b.Readings[0]
			r.Key, r.Err = fmt.Sprintf("rl:sick%d", i), "holds a list"
			if i >= 40 {
				r.Err = "holds a hash"
			}
			b.Readings = append(b.Readings, r)
		}
	}
	s.run(time.Second)
	s.see("40 keys rl:*", "each holds a list", "2 keys rl:*", "each holds a hash")
	if strings.Contains(s.text(), "rl:sick1 holds") {
		t.Errorf("a sick key has a line of its own:\n%s", s.text())
	}
	s.press("/")
	for _, letter := range "sick39" {
		s.press(string(letter))
	}
	s.see("? rl:sick39 ", "1 fit")
}

func TestKeysThatAppearTogetherAreOneEvent(t *testing.T) {
	people := make([]tuitest.Personality, 1243)
	for i := range people {
		people[i] = tuitest.Cast()[i%8]
		people[i].Name = fmt.Sprintf("%s:%04d", people[i].Name, i)
	}
	s := newAlone(t, 140, 42, people...)
	all := false
	s.edit = func(b *model.Batch) {
		if !all {
			b.Readings, b.Sweep.Matched = b.Readings[:1], 1
		}
		for i := range b.Readings { // nothing but that they are there
			r := &b.Readings[i]
			r.State, r.Arrivals = limiter.State{Algorithm: r.State.Algorithm}, nil
		}
	}
	s.run(time.Second)
	all = true
	s.run(time.Second)
	s.see("1,242 keys: api:export:nigh", "appeared")
	s.edit = func(b *model.Batch) {
		for _, r := range b.Readings[1:] {
			b.Gone = append(b.Gone, r.Key)
		}
		b.Readings = b.Readings[:1]
	}
	s.run(2 * time.Second)
	s.see("left the server")
	for line := range strings.Lines(s.text()) {
		if strings.Contains(line, "left the server") && !strings.Contains(line, "keys: api:export:") {
			t.Errorf("the keys that left are not named in %q", line)
		}
	}
}

// TestTheKeyOfAnEventIsShownAsItWasThen beside the log, and changes with the selected event.
func TestTheKeyOfAnEventIsShownAsItWasThen(t *testing.T) {
	s := newAlone(t, 140, 42, tuitest.Overrun()...)
	s.run(20 * time.Second)
	s.see(" window ", "room for ", " · at 09:00:")
	newest := s.text()
	s.press("end")
	at := ""
	for line := range strings.Lines(s.text()) {
		if _, rest, found := strings.Cut(line, "▌"); found {
			at = rest[:len("15:04:05")]
		}
	}
	s.see(" · at " + at)
	if s.text() == newest {
		t.Error("the oldest event shows what the newest shows")
	}
}

// TestTheLogStaysInItsRoom at every size, whatever is selected.
func TestTheLogStaysInItsRoom(t *testing.T) {
	s := newAlone(t, 140, 42, tuitest.Every()...)
	s.run(30 * time.Second)
	for w := 60; w <= 200; w += 14 {
		for h := 20; h <= 60; h += 5 {
			s.app.Update(tea.WindowSizeMsg{Width: w, Height: h})
			s.press("end", "up", "home", "down")
			lines := strings.Split(s.text(), "\n")
			if len(lines) != h {
				t.Fatalf("%dx%d: %d lines", w, h, len(lines))
			}
			for _, line := range lines {
				if n := ansi.StringWidth(line); n != w {
					t.Fatalf("%dx%d: a line of %d columns: %q", w, h, n, line)
				}
			}
		}
	}
}

// TestThrottledBeforeItWasSeen: how long a key has been throttled that was so when it was first read is said to be at least so long.
func TestThrottledBeforeItWasSeen(t *testing.T) {
	s := newAlone(t, 140, 42, tuitest.Overrun()...)
	begun, seen := limiter.InstantOf(s.now), map[string]bool{}
	s.edit = func(b *model.Batch) {
		if b.At.Sub(begun) < 15*time.Second {
			b.Readings = nil
		}
		for i := range b.Readings {
			if r := &b.Readings[i]; !seen[r.Key] {
				seen[r.Key], r.Since = true, 0
			}
		}
	}
	s.run(20 * time.Second)
	if text := s.text(); !regexp.MustCompile(`is throttled( by \d+ in \S+)?, for at least [456]s now`).MatchString(text) {
		t.Errorf("no key was throttled before:\n%s", text)
	}
}

// TestAnEventLeadsToItsMoment opens the newest event: its key, with the cursor at its time.
func TestAnEventLeadsToItsMoment(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, tuitest.Overrun()...)
	s.Run(12 * time.Second)
	s.Press("5", "end", "enter")
	if s.App.Screen() != "dashboard" {
		t.Fatal("enter does not lead to the key")
	}
	s.See("PAUSED")
	at := s.Session.Shown.At()
	if now := limiter.InstantOf(s.Now); now.Sub(at) < 5*time.Second {
		t.Errorf("the oldest event of %v leads to a moment %v ago", s.Now, now.Sub(at))
	}
}

// TestEventsSayWhatPaged: the log of events has the alerts of the configuration with rule and severity, many at
// once in one line, and what became of delivering them; the filter finds them.
func TestEventsSayWhatPaged(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	s.Run(2 * time.Second)
	at := s.Now.UnixMilli()
	var news []session.News
	for i := range 40 {
		key := report.Text(fmt.Sprint("rl:", i))
		news = append(news, session.News{Alert: &report.Alert{Alert: "full", State: report.Firing, Severity: "page", Key: &key, At: at,
			Text: "full"}})
	}
	one := report.Text("rl:one\x1b[2J")
	news = append(news, session.News{Alert: &report.Alert{Alert: "slow", State: report.Firing, Severity: "warn", Key: &one, At: at,
		Text: "slow"}},
		session.News{Delivery: &report.Delivery{Alert: "full", State: report.Firing, Count: 40, To: "the webhook at hooks.example",
			Outcome: report.Delivered}},
		session.News{Delivery: &report.Delivery{Alert: "slow", State: report.Firing, Count: 1, To: "Alertmanager at am.example",
			Outcome: report.Refused, Why: "it answered 400"}})
	s.App.Update(session.NewsMsg(news...))
	s.Press("5")
	s.Run(time.Second)
	for _, want := range []string{
		"alert full (page) fires for 40 keys", "alert slow (warn) fires", "delivered to the webhook at hooks.example (full, firing)",
		"not delivered to Alertmanager at am.example: it answered 400",
	} {
		if !strings.Contains(strings.ToLower(s.Text()), strings.ToLower(want)) {
			t.Errorf("the events do not say %q:\n%s", want, s.Text())
		}
	}
	if n := strings.Count(s.Text(), "full (page)"); n != 1 {
		t.Errorf("40 alerts at once take %d lines", n)
	}
}
