package lab_test

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	engine "ratescope/model/lab"
	"ratescope/tui/lab"
)

// TestAPictureOfAMomentIsThatMoment draws a moment in every form.
func TestAPictureOfAMomentIsThatMoment(t *testing.T) {
	shot := lab.Shot{Width: 80, Height: 24, At: 9500 * time.Millisecond}
	draw := func(o lab.Options, kind string) string {
		t.Helper()
		text, err := lab.Picture(context.Background(), o, shot, kind)
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
	for _, bad := range []lab.Shot{{Width: 5, Height: 5}, {Width: 80, Height: 24, At: -1}, {Width: 80, Height: 5000}} {
		if _, err := lab.Picture(context.Background(), lab.Options{}, bad, ".txt"); err == nil {
			t.Errorf("a picture of %+v is made", bad)
		}
	}
}

// TestAPictureOfTheBeginning: nothing is decided yet, also not of what comes at that very instant.
func TestAPictureOfTheBeginning(t *testing.T) {
	first := slices.IndexFunc(engine.Lessons(), func(l engine.Lesson) bool { return l.ID == "choose-limiter" })
	text, err := lab.Picture(context.Background(), lab.Options{First: first}, lab.Shot{Width: 120, Height: 36}, ".txt")
	if err != nil || strings.Count(text, " 0 admitted 0 denied") != 5 {
		t.Errorf("%v\n%s", err, text)
	}
}
