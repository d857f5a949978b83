package tui_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"ratescope/feed/script/sandbox"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/lab"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// outputLog keeps what the program writes, byte for byte, on its way to a terminal.
type outputLog struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (t *outputLog) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.Write(p)
}

func (t *outputLog) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.String()
}

// runRecorded runs a dashboard in a terminal of so many colours and keeps its output.
func runRecorded(t *testing.T, profile colorprofile.Profile, o tui.Options, tell func(x *terminal, out *outputLog)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if o.Session.Source.Take == nil {
			o.Session.Source.Take = tuitest.NewFeed(time.Now()).Take
		}
		out := &outputLog{}
		x := launch(t, 120, 36, dark, func(ctx context.Context, extra ...tea.ProgramOption) error {
			return tui.Run(ctx, []tui.Options{o}, append(extra, tea.WithColorProfile(profile), tea.WithOutput(out))...)
		})
		x.Wait(3 * time.Second)
		tell(x, out)
	})
}

// TestTerminalsWithFewerColours: the renderer takes the nearest of what there is.
func TestTerminalsWithFewerColours(t *testing.T) {
	has := func(codes string) *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;]*\b` + codes) }
	whole, indexed, sixteen := has("[34]8;2;"), has("[34]8;5;"), has("(3[0-7]|9[0-7])m")
	for _, tc := range []struct {
		profile colorprofile.Profile
		want    []*regexp.Regexp
		not     []*regexp.Regexp
	}{
		{colorprofile.TrueColor, []*regexp.Regexp{whole}, nil},
		{colorprofile.ANSI256, []*regexp.Regexp{indexed}, []*regexp.Regexp{whole}},
		{colorprofile.ANSI, []*regexp.Regexp{sixteen}, []*regexp.Regexp{whole, indexed}},
		{colorprofile.ASCII, nil, []*regexp.Regexp{whole, indexed, sixteen}}, // as under NO_COLOR
	} {
		t.Run(tc.profile.String(), func(t *testing.T) {
			runRecorded(t, tc.profile, tui.Options{}, func(_ *terminal, out *outputLog) {
				text := out.String()
				if !strings.Contains(text, "used/limit") {
					t.Fatalf("there is no dashboard in %d bytes", len(text))
				}
				for _, re := range tc.want {
					if !re.MatchString(text) {
						t.Errorf("no colour like %v", re)
					}
				}
				for _, re := range tc.not {
					if hit := re.FindString(text); hit != "" {
						t.Errorf("%q is sent to it", hit)
					}
				}
			})
		})
	}
}

func TestCopyReachesTheClipboard(t *testing.T) {
	runRecorded(t, colorprofile.TrueColor, tui.Options{}, func(x *terminal, out *outputLog) {
		x.Press("y")
		x.Wait(time.Second)
		_, rest, found := strings.Cut(out.String(), "\x1b]52;c;")
		if !found {
			t.Fatal("nothing is sent to the clipboard")
		}
		coded := rest[:strings.IndexAny(rest, "\a\x1b")]
		text, err := base64.StdEncoding.DecodeString(coded)
		if err != nil || !regexp.MustCompile(`^[a-z]+:[a-z:]+.* \d+/\d+ in \d+s .* next \S+$`).Match(text) {
			t.Errorf("the clipboard gets %q, %v", text, err)
		}
	})
}

// TestDiscoveryShowsInTheTerminal looks at the terminal's own title and progress bar.
func TestDiscoveryShowsInTheTerminal(t *testing.T) {
	done := false
	var mu sync.Mutex
	o := tui.Options{Session: session.Options{Source: session.Source{Take: func(ctx context.Context) (model.Batch, error) {
		select {
		case <-ctx.Done():
			return model.Batch{}, io.EOF
		case <-time.After(tuitest.Refresh):
		}
		b := tuitest.NewFeed(time.Now()).Advance(time.Now())
		mu.Lock()
		defer mu.Unlock()
		if b.Sweep = (model.Sweep{Scanned: 40, Total: 100}); done {
			b.Sweep = model.Sweep{Scanned: 100, Total: 100, Passes: 1}
		}
		return b, nil
	}}}}
	runRecorded(t, colorprofile.TrueColor, o, func(x *terminal, out *outputLog) {
		for _, want := range []string{"\x1b]9;4;1;40", "\x1b]2;ratescope redis://prod-eu-1:6379/0"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not sent to the terminal", want)
			}
		}
		mu.Lock()
		done = true
		mu.Unlock()
		before := len(out.String())
		x.Wait(2 * time.Second)
		if !strings.Contains(out.String()[before:], "\x1b]9;4;0") {
			t.Error("the terminal's progress bar stays after the first pass")
		}
	})
}

// TestACalmScreenRests: where nothing arrives, nothing is sent but the clock's new second.
func TestACalmScreenRests(t *testing.T) {
	people := tuitest.Cast()
	for i := range people {
		people[i].Rate, people[i].Limit.Window = nil, 10*time.Second
	}
	for _, key := range []string{"1", "2", "4", "5"} {
		t.Run("screen "+key, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := tuitest.NewFeed(time.Now(), people...)
				x := start(t, 140, 42, dark, tui.Options{Session: session.Options{Source: session.Source{Take: feed.Take}}})
				x.See("used/limit")
				x.Press(key)
				x.Wait(25 * time.Second) // longer than two windows
				const seconds = 20
				writes, last := 0, x.Bytes()
				for range seconds * 50 {
					x.Wait(20 * time.Millisecond)
					if n := x.Bytes(); n != last {
						writes, last = writes+1, n
					}
				}
				if writes > seconds+1 {
					t.Errorf("%d pictures in %d seconds in which nothing happened", writes, seconds)
				}
			})
		})
	}
}

// Without animation the picture changes with the seconds of the clock alone.
func TestStillScreenChangesOnceASecond(t *testing.T) {
	told(t, 140, 42, tui.Options{Look: shell.Options{Still: true}}, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
		seen := map[string]bool{}
		for range 100 { // ten seconds
			seen[x.Screen()] = true
			x.Wait(100 * time.Millisecond)
		}
		if n := len(seen); n < 8 || n > 12 {
			t.Errorf("%d pictures in ten seconds, want about ten", n)
		}
	})
}

func TestLeavesTheTerminalAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var on sandbox.Stage
		defer on.Close()
		x := launch(t, 80, 24, dark, func(ctx context.Context, extra ...tea.ProgramOption) error {
			return lab.Run(ctx, lab.Options{Redis: &on}, extra...)
		})
		x.See("PAUSED")
		x.Press("?", "?")
		x.See("any other key closes")
		for range 90 { // down to the last of the keys, a line at a time
			if _, _, found := x.Find("turns the mouse on or off"); found {
				break
			}
			x.Press("down")
		}
		x.See("turns the mouse on or off")
		x.Press("q")
		x.See("PAUSED")
		x.Press("q")
		x.Done()
		if x.AltScreen() {
			t.Error("the program left the terminal on its second screen")
		}
	})
}
