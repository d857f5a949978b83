package cmd

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"ratescope/model"
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
	err := identifyText(t.Context(), b, 0, output{Out: &out, Err: &errs, JSON: true})
	var exit exitError
	if !errors.As(err, &exit) || exit.Code != exitNothing || out.Len() > 0 || !strings.Contains(err.Error(), lack) {
		t.Errorf("nothing could be looked at: %v, printed %q", err, &out)
	}
	b.Readings = []model.Reading{{Key: "k", Type: "zset", At: dawn}}
	if err := identifyText(t.Context(), b, 0, output{Out: &out, Err: &errs, JSON: true}); err != nil || !strings.Contains(errs.String(), lack) {
		t.Errorf("a part could be looked at: %v, stderr is %q, want it to say what could not", err, &errs)
	}
}
