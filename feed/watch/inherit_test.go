package watch

import (
	"testing"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/track"
	"ratescope/limiter"
	"ratescope/model"
)

// TestBatchesNameTheDatabase: the part of a URL that is shown holds no database, so that a batch has it beside.
func TestBatchesNameTheDatabase(t *testing.T) {
	e, err := connect.Parse([]string{"redis://127.0.0.1:1?db=2"}, connect.TLSFiles{})
	if err != nil {
		t.Fatal(err)
	}
	w := New(Options{}, e, nil)
	defer w.Close()
	var got model.Server
	(&emitter{emit: func(b model.Batch) { got = b.Server }, server: w.server}).send(time.Time{}, nil, nil)
	if got.DB != 2 || got.Target != "redis://127.0.0.1:1" {
		t.Errorf("the server is %q, database %d", got.Target, got.DB)
	}
}

// TestOtherRulesKeepWhatWasLearned: a session with other rules has what the one before has learned by watching, without the
// candidates that a rule now speaks of.
func TestOtherRulesKeepWhatWasLearned(t *testing.T) {
	e, err := connect.Parse([]string{"redis://127.0.0.1:1"}, connect.TLSFiles{})
	if err != nil {
		t.Fatal(err)
	}
	w := New(Options{}, e, nil)
	defer w.Close()
	at := limiter.InstantOf(time.Unix(1_795_300_000, 0))
	for n := range int64(3) {
		w.reader.inferred.Learn(&model.Reading{
			Key: "rl:a", Pattern: "rl:*", Type: "string", At: at.Add(time.Duration(n) * time.Second), TTL: time.Duration(60-n) * time.Second,
			Target: model.Target{Algorithm: limiter.FixedWindow}, State: limiter.State{Current: n + 1},
		}, track.Span{})
	}
	l := w.reader.limiters
	for _, name := range []string{"mark:a", "told:a", "named:a"} {
		l.candidates.put(name, &leftOut{kind: "string single "}, &l.patterns, at)
	}
	c, err := config.Parse([]byte("rules: [{match: 'told:*', limit: 1/1m}, {name: 'named:{who}', read: present}]"))
	if err != nil {
		t.Fatal(err)
	}
	w.o.Rules = c.Rules
	was := w.reader
	if err := w.reopen(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	w.reader.inherit(was)
	if terms := w.reader.inferred.Terms("rl:*"); !terms.Up {
		t.Errorf("it is not known that the counts rise: %+v", terms)
	}
	if left := w.reader.limiters.candidates.names; len(left) != 1 || left["mark:a"] == nil {
		t.Errorf("the candidates are %v, want mark:a alone", left)
	}
}
