package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/session"
)

// plainEvery is how often Plain repeats where everything stands.
const plainEvery = 10 * time.Second

// Plain writes what happens as lines of text, one fact a line and no escape sequence,
// for scripts and screen readers: who is throttled and who is free again as it happens,
// and a summary every ten seconds. It ends with ctx.
func Plain(ctx context.Context, w io.Writer, o session.Options) error {
	p := &plain{w: w, o: o}
	for {
		batch, err := o.Source.Take(ctx)
		if err == io.EOF {
			return p.close()
		}
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		}
		p.board.Apply(batch)
		if p.report(batch.Local); p.err != nil {
			return fmt.Errorf("the text could not be written: %w", p.err)
		}
	}
}

// close says that a recording is over, and where everything stood.
func (p *plain) close() error {
	p.summary()
	why := ""
	if play := p.o.Source.Player; play != nil {
		why = play.Playback(time.Now()).CutOff
	}
	if why == "" {
		p.line("end of the recording")
	} else {
		p.line("the recording ends too soon: %s", safetext.Clean(why))
	}
	return p.err
}

type plain struct {
	w       io.Writer
	o       session.Options
	board   model.Board
	written int // alerts already written
	last    time.Time
	trouble string // the last trouble with the server
	err     error  // why a line could not be written; no more are then
}

func (p *plain) line(pattern string, args ...any) {
	if p.err != nil {
		return
	}
	clock := "--:--:--" // of a server that has not answered yet
	if p.board.At != 0 {
		clock = format.Clock(p.board.At)
	}
	_, p.err = fmt.Fprintf(p.w, "%s  %s\n", clock, fmt.Sprintf(pattern, args...))
}

func (p *plain) report(local time.Time) {
	s := p.board.Server
	if trouble := s.Err; trouble != p.trouble {
		if p.trouble = trouble; trouble != "" {
			p.line("%s", safetext.Clean(trouble))
		}
	}
	alerts := p.board.Alerts()
	for _, e := range alerts[len(alerts)-min(p.board.Raised()-p.written, len(alerts)):] {
		if e.What != model.LinkLost && e.What != model.Appeared {
			name := func(key string) string { return session.FullName(key, p.o.Mask) }
			p.line("%s %s", session.Subject(&e, name), session.AlertText(&e))
		}
	}
	p.written = p.board.Raised()
	if s.Link == model.Live && local.Sub(p.last) >= plainEvery {
		p.last = local
		p.summary()
	}
}

func (p *plain) summary() {
	t := p.board.Totals()
	if t.Keys == 0 {
		text, _ := session.Searching(&p.board)
		p.line("%s", text)
		return
	}
	for _, lack := range p.board.Server.Lacks {
		p.line("%s", safetext.Clean(lack))
	}
	least, behind := "", session.BehindText(&p.board.Sweep)
	if behind != "" {
		least, behind = "at least ", "; "+behind
	}
	p.line("%s: %s%d throttled, %d near their limit; %s admitted%s", format.Plural(t.Keys, "key"), least, t.Throttled, t.Near,
		format.PerSecond(t.Admitted), behind)
	for _, k := range p.board.Select(model.View{}) {
		if !k.Gauge.Throttled() && !k.Gauge.Near() {
			break
		}
		p.line("  %s", session.RowText(k, session.FullName(k.Reading.Key, p.o.Mask)))
	}
}
