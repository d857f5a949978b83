package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"ratescope/feed/fire"
	"ratescope/feed/replay"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model/format"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/model/safetext"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/state"
)

type replayFlags struct {
	speed      float64
	at         string
	key, write string
	events     bool
	every      time.Duration
}

func newReplay(p *program) *cobra.Command {
	var f replayFlags
	c := helped("replay FILE")
	c.Flags().Float64Var(&f.speed, "speed", 1, "how many times as fast as it was, 0.1 to 1000")
	c.Flags().StringVar(&f.at, "at", "", "moment to begin at, paused, or to print with --format")
	c.Flags().StringVar(&f.write, "format", "", "print rows as jsonl, csv or md instead of showing the screens")
	c.Flags().StringVar(&f.key, "key", "", "with --format: the history of this key, by its name as the recording has it")
	c.Flags().BoolVar(&f.events, "events", false, "with --format: what happened and what was marked; with --key of that key alone")
	c.Flags().DurationVar(&f.every, "every", time.Second, "with --key: time between two rows")
	return p.command(c, one("file", "name a recording"), func(c *cobra.Command, args []string) error {
		if f.write == "" && (f.key != "" || f.events || c.Flags().Changed("every")) {
			return usagef("--key, --events and --every say what --format prints: give --format jsonl, csv or md with them")
		}
		if f.events && (f.at != "" || c.Flags().Changed("every")) {
			return usagef("--events prints what happened in all of the recording: leave --at and --every out")
		}
		file, under, err := replay.Open(c.Context(), args[0])
		if err != nil {
			return usage(err)
		}
		defer under.Close()
		if file.LeftOut > 0 {
			fmt.Fprintf(c.ErrOrStderr(),
				"ratescope: %s of the recording cannot be read: what was seen from there to the next half minute is left out\n",
				format.Plural(file.LeftOut, "line"))
		}
		at, err := f.moment(file)
		switch {
		case err != nil:
			return err
		case f.events:
			return printEvents(p, c, args[0], file, f)
		case f.write != "":
			return printRows(p, c, file, f, at)
		}
		player, err := replay.New(file, f.speed, p.look.lines(term.IsTerminal(os.Stdout.Fd())))
		if err != nil {
			return usage(err)
		}
		if f.at != "" {
			player.Seek(at)
			player.Pause()
		}
		set, keep, err := readMarkers(args[0])
		if err != nil {
			return err
		}
		options := session.Options{Inject: firing.Options{Refused: replay.ErrRecording}, Markers: state.MarkerOptions{Set: set, Keep: keep,
			Happened: func(ctx context.Context) ([]record.Marker, error) { return happened(ctx, args[0], file) }}}
		options.Saving.History = func(key string, f report.Format) (string, error) {
			return exportHistory(file.FromState, key, f, p.names)
		}
		options.Source = session.Source{Take: player.Take, Focus: player.Focus, Player: player}
		return p.show(c.Context(), c, []board{{options: tui.Options{Session: options}}})
	}, boardFlags, []string{"plain"})
}

// moment reads --at; without it, it is the end of the recording.
func (f replayFlags) moment(file *record.File) (limiter.Instant, error) {
	if f.at == "" {
		return file.End, nil
	}
	at, ok := format.ReadMoment(f.at, file.Begin, file.End)
	if !ok {
		return 0, usagef("--at does not take %q: give %s", f.at, format.Moments)
	}
	if at < file.Begin || at > file.End {
		return 0, usagef("--at %q is %s, outside of the recording, which is from %s to %s", f.at, format.Date(at), format.Date(file.Begin),
			format.Date(file.End))
	}
	return at, nil
}

func printRows(p *program, c *cobra.Command, file *record.File, f replayFlags, at limiter.Instant) error {
	written, err := report.ReadFormat(f.write)
	if err != nil {
		return usage(err)
	}
	var rows []report.Row
	var server string
	if f.key == "" || f.at != "" {
		rows, server, err = replay.Moment(file, at, f.key, p.names)
	} else {
		var all *record.Reader
		if all, err = file.FromState(0); err == nil {
			rows, server, err = replay.History(all, f.key, f.every, p.names)
		}
	}
	if err != nil {
		return usage(err)
	}
	if f.key != "" && len(rows) == 0 {
		return usagef("the recording has no key %q then: print --at a moment without --key to see which there were", safetext.Clean(f.key))
	}
	return report.WriteRows(c.OutOrStdout(), written, server, rows)
}

// readMarkers returns the markers of a recording or a capsule, which stand in a file beside it that need not exist, and a function
// that writes others to the file. Errors are one sentence.
func readMarkers(recording string) (list []record.Marker, keep func([]record.Marker) error, err error) {
	name := recording + record.MarkersExtension
	was, err := file.ReadAny(name, record.MaxMarkersFile)
	if err != nil {
		return nil, nil, err
	}
	if was != nil {
		if list, err = record.DecodeMarkers(was); err != nil {
			return nil, nil, fmt.Errorf("the markers in %s cannot be read: %w; move the file away to replay without them",
				safetext.Clean(name), err)
		}
	}
	return list, func(list []record.Marker) error {
		content, err := record.EncodeMarkers(list)
		if err == nil {
			err = file.Replace(name, was, content)
		}
		if err == nil {
			was = content
		}
		return err
	}, nil
}

// happened returns the events of a recording: those of its boards and, of a capsule, also its alerts and
// audit lines.
func happened(ctx context.Context, name string, recording *record.File) ([]record.Marker, error) {
	list, err := replay.Happened(ctx, recording, session.EventText)
	if err != nil {
		return nil, fmt.Errorf("what happened in %s is not known: %w", safetext.Clean(name), err)
	}
	list = append(list, aside(name, recording)...)
	record.SortMarkers(list)
	return list, nil
}

// aside returns the alerts and audit lines of a capsule within the time of its recording; nil for
// another file.
func aside(name string, recording *record.File) (list []record.Marker) {
	f, err := file.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	add := func(m record.Marker) {
		if m.At >= recording.Begin && m.At <= recording.End {
			list = append(list, m)
		}
	}
	alerts, _ := report.CapsuleLines(f, info.Size(), report.CapsuleAlerts) // of what cannot be read, the recording still tells
	for line := range bytes.Lines(alerts) {
		var a report.Alert
		if json.Unmarshal(line, &a) != nil {
			continue
		}
		m := record.Marker{At: limiter.Instant(a.At * 1000), Kind: record.MarkerAlert,
			Text: fmt.Sprintf("alert %s (%s) is %s", a.Alert, a.Severity, a.State)}
		if a.Key != nil {
			m.Key = string(*a.Key)
		}
		add(m)
	}
	audit, _ := report.CapsuleLines(f, info.Size(), report.CapsuleAudit)
	for _, m := range fire.KeyChanges(audit) {
		m.At = m.At.Add(recording.Offset)
		add(m)
	}
	return list
}

func printEvents(p *program, c *cobra.Command, name string, recording *record.File, f replayFlags) error {
	written, err := report.ReadFormat(f.write)
	if err != nil {
		return usage(err)
	}
	list, _, err := readMarkers(name)
	if err != nil {
		return err
	}
	found, err := happened(c.Context(), name, recording)
	if err != nil {
		return err
	}
	list = append(list, found...)
	record.SortMarkers(list)
	if f.key != "" {
		list = slices.DeleteFunc(list, func(m record.Marker) bool { return m.Key != f.key })
	}
	return report.WriteEvents(c.OutOrStdout(), written, recording.Header.Server.Target, list, p.names)
}
