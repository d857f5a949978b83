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
func Plain(ctx context.Context, w io.Writer, o Options) error {
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
		if err := p.report(batch.Local); err != nil {
			return fmt.Errorf("the text could not be written: %w", err)
		}
	}
}

// close says that a recording is over, and where everything stood.
func (p *plain) close() error {
	if err := p.summary(); err != nil {
		return err
	}
	if play := p.o.Source.Player; play != nil {
		if why := play.Playback(time.Now()).CutOff; why != "" {
			return p.line("the recording ends too soon: %s", safetext.Clean(why))
		}
	}
	return p.line("end of the recording")
}

type plain struct {
	w       io.Writer
	o       Options
	board   model.Board
	written int // alerts already written
	last    time.Time
	trouble string // the last trouble with the server
}

func (p *plain) line(pattern string, args ...any) error {
	clock := "--:--:--" // of a server that has not answered yet
	if p.board.At != 0 {
		clock = format.Clock(p.board.At)
	}
	_, err := fmt.Fprintf(p.w, "%s  %s\n", clock, fmt.Sprintf(pattern, args...))
	return err
}

func (p *plain) report(local time.Time) error {
	s := p.board.Server
	if trouble := s.Err; trouble != p.trouble {
		p.trouble = trouble
		if trouble != "" {
			if err := p.line("%s", safetext.Clean(trouble)); err != nil {
				return err
			}
		}
	}
	alerts := p.board.Alerts()
	for _, e := range alerts[len(alerts)-min(p.board.Raised()-p.written, len(alerts)):] {
		if e.What == model.LinkLost || e.What == model.Appeared {
			continue
		}
		if err := p.line("%s %s", p.subject(&e), session.AlertText(&e)); err != nil {
			return err
		}
	}
	p.written = p.board.Raised()
	if s.Link != model.Live || local.Sub(p.last) < plainEvery {
		return nil
	}
	p.last = local
	return p.summary()
}

// subject is the key or the server that an alert is about.
func (p *plain) subject(e *model.Alert) string {
	return session.Subject(e, func(key string) string { return session.FullName(key, p.o.Mask) })
}

func (p *plain) summary() error {
	t := p.board.Totals()
	if t.Keys == 0 {
		text, _ := session.Searching(&p.board)
		return p.line("%s", text)
	}
	for _, lack := range p.board.Server.Lacks {
		if err := p.line("%s", safetext.Clean(lack)); err != nil {
			return err
		}
	}
	least, behind := "", session.BehindText(&p.board.Sweep)
	if behind != "" {
		least, behind = "at least ", "; "+behind
	}
	if err := p.line("%s: %s%d throttled, %d near their limit; %s admitted%s", format.Plural(t.Keys, "key"), least, t.Throttled, t.Near,
		format.PerSecond(t.Admitted), behind); err != nil {
		return err
	}
	for _, k := range p.board.Select(model.View{}) {
		if !k.Gauge.Throttled() && !k.Gauge.Near() {
			break
		}
		if err := p.line("  %s", session.RowText(k, session.FullName(k.Reading.Key, p.o.Mask))); err != nil {
			return err
		}
	}
	return nil
}
