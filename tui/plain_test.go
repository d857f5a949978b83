package tui_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/session"
)

var opened = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// TestPlainLines: a server that has never answered has no clock, and one key is no several.
func TestPlainLines(t *testing.T) {
	away := model.Batch{Local: opened, Server: model.Server{Target: "redis://h", Link: model.Down, Err: "nothing listens at redis://h"}}
	there := model.Batch{At: limiter.InstantOf(opened), Local: opened, Server: model.Server{Target: "redis://h", Link: model.Live},
		Readings: []model.Reading{{Key: "k"}}}
	for want, batch := range map[string]model.Batch{"--:--:--  nothing listens at redis://h": away, "  1 key: ": there} {
		batches := []model.Batch{batch}
		var out bytes.Buffer
		err := tui.Plain(t.Context(), &out, session.Options{Source: session.Source{Take: func(context.Context) (model.Batch, error) {
			if len(batches) == 0 {
				return model.Batch{}, io.EOF
			}
			b := batches[0]
			batches = nil
			return b, nil
		}}})
		if err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v, lines %q, want them to hold %q", err, &out, want)
		}
	}
}
