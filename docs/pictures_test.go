package docs_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"ratescope/feed/script/sandbox"
	"ratescope/limiter"
	"ratescope/tui"
	"ratescope/tui/cell"
	"ratescope/tui/firing"
	"ratescope/tui/lab"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// picture is one capture: its size, its theme, the key to which the selection goes, the keys pressed then,
// and how many requests are fired.
type picture struct {
	file  string
	w, h  int
	theme string
	key   string
	keys  string
	burst int
}

var pictures = []picture{
	{"dashboard.svg", 140, 42, "phosphor", "api:search:alice", "", 40},
	{"dashboard-light.svg", 140, 42, "paper", "api:export:nightly", "", 10},
	{"grid.svg", 140, 42, "phosphor", "api:search:alice", "2", 0},
	{"small.svg", 80, 24, "phosphor", "api:export:nightly", "", 10},
}

// labMoment is where in its lesson the lab is pictured.
const labMoment = 12 * time.Second

// mostBytes is what a picture of the README may weigh.
const mostBytes = 300 << 10

func TestMain(m *testing.M) {
	time.Local = time.UTC // times of day on screen are those of no place
	os.Exit(m.Run())
}

// TestPictures holds the pictures of the documents to the program, which draws them without a terminal, on a clock of their
// own and on requests that are the same every time: go test ./docs -update writes them.
func TestPictures(t *testing.T) {
	drawn := map[string]func() (string, error){filmFile: film, "lab.svg": ofLab}
	for _, p := range pictures {
		drawn[p.file] = p.draw
	}
	for file, draw := range drawn {
		content, err := draw()
		switch again, repeated := draw(); {
		case err != nil || repeated != nil:
			t.Fatalf("%s cannot be drawn: %v, %v", file, err, repeated)
		case content != again:
			t.Errorf("%s is drawn in two ways", file)
		case len(content) > mostBytes:
			t.Errorf("%s has %d bytes, more than %d", file, len(content), mostBytes)
		case *update:
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		case content != read(t, file):
			t.Errorf("docs/%s is not what the program draws: run go test ./docs -update, and look at it", file)
		}
	}
}

// draw draws the dashboard as it is half a minute after the start.
func (p picture) draw() (string, error) {
	s, err := newScene(tuitest.Cast(), p.theme, p.w, p.h)
	if err != nil {
		return "", err
	}
	s.run(27 * time.Second)
	s.pick(p.key)
	s.stage.press(p.keys)
	if err := s.fire(p.key, p.burst); err != nil {
		return "", err
	}
	s.run(2 * time.Second)
	return cell.Document(p.w, p.h, p.theme != "paper", "", strings.Join(s.stage.rows(), "")), nil
}

// ofLab draws a lesson of the lab.
func ofLab() (string, error) {
	o := lab.Options{First: 4, Look: shell.Options{Theme: "phosphor"}, Redis: &sandbox.Stage{}}
	return lab.Picture(context.Background(), o, lab.Shot{Width: 140, Height: 42, At: labMoment}, ".svg")
}

// scene is a dashboard on a clock of its own. Make one with newScene.
type scene struct {
	stage *stage
	feed  *tuitest.Feed
	now   time.Time
}

// armed is an injector that is not asked to fire.
type armed struct{ firing.Injector }

func (armed) Armed() error { return nil }

func newScene(cast []tuitest.Personality, theme string, w, h int) (*scene, error) {
	s := &scene{now: time.Date(2026, 11, 20, 14, 23, 0, 0, time.UTC)}
	s.feed = tuitest.NewFeed(s.now, cast...)
	s.feed.Server.Target = "redis://cache:6379"
	var err error
	s.stage, err = newStage(context.Background(), tui.Options{Look: shell.Options{Theme: theme},
		Session: session.Options{Inject: firing.Options{Injector: armed{}}}}, w, h)
	return s, err
}

// run lets time pass.
func (s *scene) run(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(tuitest.Refresh)
		b := s.feed.Advance(s.now)
		b.Health = nil // the pictures are about keys
		s.stage.batch(b)
		s.stage.tick(s.now)
	}
}

// pick moves the selection down to a key.
func (s *scene) pick(key string) {
	selected := regexp.MustCompile(`▌. ` + regexp.QuoteMeta(key))
	for range 20 {
		if selected.MatchString(s.stage.text()) {
			return
		}
		s.stage.press("j")
	}
}

// fire fires a burst at a key, a millisecond between two requests.
func (s *scene) fire(key string, n int) error {
	for i := range n {
		fired, err := s.feed.FireAt(limiter.InstantOf(s.now.Add(time.Duration(i)*time.Millisecond)), key, 1)
		if err != nil {
			return err
		}
		fired.Order = 1
		s.stage.fired(fired)
	}
	return nil
}
