package cmd

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/identify"
	"ratescope/model/report"
)

// once is a source of one batch.
type once model.Batch

func (o once) Run(ctx context.Context, emit func(model.Batch)) error {
	for ctx.Err() == nil {
		emit(model.Batch(o))
	}
	return nil
}

// TestIdentifySaysWhatItCouldNotSee: a server whose keys cannot be looked at is not said to hold no
// limiter.
func TestIdentifySaysWhatItCouldNotSee(t *testing.T) {
	const lack = "keys cannot be discovered: allow it with ACL SETUSER … +scan"
	b := once{At: dawn, Local: dawn.Time(), Server: model.Server{Link: model.Live, Lacks: []string{lack}}, Sweep: model.Sweep{Passes: 1}}
	var out, errs bytes.Buffer
	err := identifyTo(t, b, output{Out: &out, Err: &errs, JSON: true})
	var exit exitError
	if !errors.As(err, &exit) || exit.Code != exitNothing || out.Len() > 0 || !strings.Contains(err.Error(), lack) {
		t.Errorf("nothing could be looked at: %v, printed %q", err, &out)
	}
	b.Readings = []model.Reading{{Key: "k", Type: "zset", At: dawn}}
	if err := identifyTo(t, b, output{Out: &out, Err: &errs, JSON: true}); err != nil || !strings.Contains(errs.String(), lack) {
		t.Errorf("a part could be looked at: %v, stderr is %q, want it to say what could not", err, &errs)
	}
}

// TestIdentifiedSaysWhatIsInNoGroup: in words, and nothing of what there is none of.
func TestIdentifiedSaysWhatIsInNoGroup(t *testing.T) {
	for _, c := range []struct {
		none, left int64
		want       string
	}{
		{0, 0, "redis://x: 0 groups of limiters.\n"},
		{1, 0, "redis://x: 0 groups of limiters, 1 key is no limiter.\n"},
		{300, 4429, "redis://x: 0 groups of limiters, 300 keys are no limiters, 4429 keys left out: " +
			"named and formed like others that are none, or not readable.\n"},
		{0, 1, "redis://x: 0 groups of limiters, 1 key left out: named and formed like others that are none, or not readable.\n"},
	} {
		text := limitersOf(identify.Report{Unknown: c.left, NotLimiters: c.none}, "redis://x", report.Options{}).String()
		if first, _, _ := strings.Cut(text, "\n"); first+"\n" != c.want {
			t.Errorf("%d and %d: %q, want %q", c.none, c.left, first, c.want)
		}
	}
}

// TestIdentifiedRuleHasTheBurst: of a bucket whose keys tell its capacity, the rule says it beside the limit,
// and neither where two groups of one pattern differ.
func TestIdentifiedRuleHasTheBurst(t *testing.T) {
	bucket := identify.Group{
		Pattern: "api:*", Keys: 1, Library: "symfony-rate-limiter", Evidence: model.Known, Algorithm: limiter.TokenBucket,
		Window: time.Second,
		Limit:  limiter.Limit{Count: 10, Window: time.Second, Burst: 85}, LimitFrom: model.LimitOfKey, Example: "api:a",
	}
	other := bucket
	other.Limit.Burst = 20
	for _, c := range []struct {
		groups []identify.Group
		limit  string
		burst  int64
	}{
		{[]identify.Group{bucket}, "10/1s", 85},
		{[]identify.Group{bucket, bucket}, "10/1s", 85},
		{[]identify.Group{bucket, other}, "", 0},
	} {
		entries := entriesOf(limitersOf(identify.Report{Groups: c.groups}, "redis://x", report.Options{}))
		if len(entries) != 1 || entries[0].Limit != c.limit || entries[0].Burst != c.burst {
			t.Fatalf("the rules are %+v, want limit %q and burst %d", entries, c.limit, c.burst)
		}
		file := config.File(entries)
		read, err := config.Parse([]byte(file))
		if err != nil || read.Rules[0].Limit.Burst != c.burst {
			t.Errorf("%v, the rule is read with burst %d, want %d:\n%s", err, read.Rules[0].Limit.Burst, c.burst, file)
		}
	}
}

// identifyTo prints what identify finds in a source.
func identifyTo(t *testing.T, src feed.Source, o output) error {
	t.Helper()
	found, err := identified(t.Context(), src, 0, o)
	if err != nil {
		return err
	}
	return o.print(found)
}
