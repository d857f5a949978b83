package replay_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"ratescope/feed/replay"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/tui/session"
)

// TestHappenedIsWhatTheBoardTells: each alert of a board that saw every batch, at a moment at which a
// replay knows of it; keys that came and went are left out.
func TestHappenedIsWhatTheBoardTells(t *testing.T) {
	t.Parallel()
	all, file := recorded(t, 90*time.Second)
	then := boards(all)
	var board model.Board
	for _, b := range all {
		board.Apply(b)
	}
	var want []string
	for _, a := range board.Alerts() {
		if a.What != model.Appeared && a.What != model.Left {
			want = append(want, a.At.Time().UTC().Format(time.RFC3339Nano)+a.Key+session.EventText(&a))
		}
	}
	list, err := replay.Happened(context.Background(), file, session.EventText)
	if err != nil || len(want) < 5 {
		t.Fatalf("%d alerts: %v", len(want), err)
	}
	found := map[string]bool{}
	for _, m := range list {
		found[m.At.Time().UTC().Format(time.RFC3339Nano)+m.Key+m.Text] = true
		if m.Kind != record.MarkerEvent || m.Moment() < m.At {
			t.Errorf("%+v is no event that a replay has seen", m)
		}
		seen := then.upTo(m.Moment())
		if n := len(seen.Alerts()); n == 0 || seen.Alerts()[n-1].At < m.At {
			t.Errorf("where a replay goes for %+v, its board does not know of it", m)
		}
	}
	for _, text := range want {
		if !found[text] {
			t.Errorf("there is no %q", text)
		}
	}
	if len(list) != len(want) {
		t.Errorf("%d things happened, and %d are told", len(want), len(list))
	}
}

// TestHappenedJoinsTheRequestsOfAnOrder, in one marker at the first of them; an order of the same
// number much later is another one.
func TestHappenedJoinsTheRequestsOfAnOrder(t *testing.T) {
	begin := limiter.InstantOf(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC))
	var out bytes.Buffer
	w, err := record.NewWriter(&out, true, record.Header{By: "test", At: begin})
	if err != nil {
		t.Fatal(err)
	}
	fired := map[int][]model.Fired{
		2:   {{Order: 1, Key: "a", At: begin.Add(1900 * time.Millisecond), Outcome: model.Admitted}, {Order: 2, Key: "b", At: begin.Add(2 * time.Second), Outcome: model.Failed}},
		3:   {{Order: 1, Key: "a", At: begin.Add(2900 * time.Millisecond), Outcome: model.Denied}},
		120: {{Order: 1, Key: "a", At: begin.Add(120 * time.Second), Outcome: model.Unanswered}},
	}
	for i := range 125 {
		at := begin.Add(time.Duration(i) * time.Second)
		if err := w.Write(model.Batch{At: at, Local: at.Time(), Server: model.Server{Target: "t", Link: model.Live}, Fired: fired[i]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := record.Open(context.Background(), bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	list, err := replay.Happened(context.Background(), f, session.EventText)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range list {
		told = append(told, m.At.Sub(begin).String()+" "+string(m.Kind)+" "+m.Key+" "+m.Text)
	}
	want := "1.9s fired a fired from here: 1 admitted, 1 denied in 1.0 s\n2s fired b fired from here: 0 admitted, 0 denied, 1 failed\n2m0s fired a fired from here: 0 admitted, 0 denied, 1 unanswered"
	if got := strings.Join(told, "\n"); got != want {
		t.Errorf("told:\n%s\nwant:\n%s", got, want)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := replay.Happened(stopped, f, session.EventText); err != context.Canceled {
		t.Errorf("it does not stop: %v", err)
	}
}
