package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"ratescope/tui/lab"
	"ratescope/tui/shell"
)

// TestAFilmIsTheSameEveryTime plays a lesson's solution into a cast twice, and shows it on a
// terminal: at its end the goal is reached.
func TestAFilmIsTheSameEveryTime(t *testing.T) {
	film := lab.Film{Width: 100, Height: 30}
	var first, second bytes.Buffer
	for _, to := range []*bytes.Buffer{&first, &second} {
		if err := lab.Cast(context.Background(), lab.Options{Look: shell.Options{Theme: "phosphor"}}, film, to); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two films of the same story differ")
	}
	lines := json.NewDecoder(&first)
	var head struct{ Version, Width, Height int }
	if err := lines.Decode(&head); err != nil || head.Version != 2 || head.Width != 100 || head.Height != 30 {
		t.Fatalf("the header is %+v (%v)", head, err)
	}
	screen := vt.NewEmulator(100, 30)
	last, events := -1.0, 0
	for {
		var event []any
		if err := lines.Decode(&event); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		at, text := event[0].(float64), event[2].(string)
		if event[1] != "o" || at <= last {
			t.Fatalf("event %v at %v after %v", event[1], at, last)
		}
		last, events = at, events+1
		if _, err := screen.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if shown := ansi.Strip(screen.Render()); !strings.Contains(shown, "reached at") || events < 20 {
		t.Errorf("after %d pictures of a lesson's solution its goal is not reached:\n%s", events, shown)
	}
}

// TestAPictureOfAMomentIsThatMoment draws a moment in every form.
func TestAPictureOfAMomentIsThatMoment(t *testing.T) {
	film := lab.Film{Width: 80, Height: 24, From: 9500 * time.Millisecond}
	draw := func(o lab.Options, kind string) string {
		t.Helper()
		text, err := lab.Picture(context.Background(), o, film, kind)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	plain := draw(lab.Options{}, ".txt")
	if !strings.Contains(plain, "9.500 s") || strings.Count(plain, "\n") != 24 {
		t.Errorf("the picture is of another moment or size:\n%s", plain)
	}
	if got := ansi.Strip(draw(lab.Options{}, ".ans")); got != plain {
		t.Errorf("with colours it says something else:\n%s", got)
	}
	decoder := xml.NewDecoder(strings.NewReader(draw(lab.Options{}, ".svg")))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []lab.Film{{Width: 5, Height: 5}, {Width: 80, Height: 24, From: -1}, {Width: 80, Height: 5000}} {
		if err := lab.Cast(context.Background(), lab.Options{}, bad, io.Discard); err == nil {
			t.Errorf("a film of %+v is made", bad)
		}
	}
}
