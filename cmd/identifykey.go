package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model/format"
	"ratescope/model/naming"
	"ratescope/model/report"
)

// readKeys is what keys could be, in the fields and the order of the JSON output.
type readKeys struct {
	Keys []readKey `json:"keys"`
}

// readKey is what one key could be. Of what it holds, only figures of readings that fit are in it.
type readKey struct {
	Key      report.Text    `json:"key"`
	Type     string         `json:"type"`
	TTL      *int64         `json:"ttl_ms"` // -1: it never expires
	Size     *int64         `json:"size"`   // bytes of a string, else elements
	Readings []reportedRead `json:"readings"`
}

// reportedRead is a reading that fits a key, with the figures that it gives now; null is not known.
type reportedRead struct {
	As        string            `json:"as"`
	Library   *string           `json:"library"`
	Algorithm *string           `json:"algorithm"`
	Used      *int64            `json:"used"`
	Limit     *int64            `json:"limit"`
	Window    *int64            `json:"window_ms"`
	Notes     []report.Text     `json:"notes"`
	Rule      map[string]string `json:"rule"` // null where no rule is needed
	words     string            // the rule as the configuration has it
}

// runIdentifyKeys says what keys could be.
func runIdentifyKeys(p *program, c *cobra.Command, f identifyFlags, keys []string) error {
	switch {
	case f.yaml || f.write || f.yes || f.watched != 0:
		return usagef("identify with keys prints what they could be: leave out --yaml, --write, --yes and --for, or the keys")
	case slices.Contains(keys, ""):
		return usagef("identify was given an empty name of a key: name keys as they are in Redis")
	}
	if err := p.ask(); err != nil {
		return err
	}
	o, err := p.Options()
	if err != nil {
		return err
	}
	if len(o.URLs) == 0 {
		return usagef("the keys of the embedded demo are known: name the server of %q with --redis", keys[0])
	}
	samples, now, err := samplesOf(c.Context(), o, keys)
	if err != nil {
		return err
	}
	var patterns naming.Patterns
	for i := range samples {
		patterns.Learn(samples[i].Key, samples[i].Type, now)
	}
	out := p.output(c)
	r := readKeys{}
	for i := range samples {
		s := &samples[i]
		k := shapeOf(s, out.Names)
		if s.Exists() {
			if k.Readings, err = readingsOf(c.Context(), o, s, config.Suggest(s, patterns.Of(s.Key, s.Type, now), now), p.Override.Limit, out.Names); err != nil {
				return err
			}
		}
		r.Keys = append(r.Keys, k)
	}
	return out.print(r)
}

// How much of a key is read to tell what it could be.
const (
	shapeBytes  = 64 << 10
	shapeFields = 200
	shapeEnds   = 50
)

// samplesOf reads a part of each key, and the server's clock, through a client that cannot write.
func samplesOf(ctx context.Context, o feed.Options, keys []string) (samples []decode.Sample, now limiter.Instant, err error) {
	e, err := o.Endpoint()
	if err != nil {
		return nil, 0, usageError{err}
	}
	client := e.Open("ratescope-identify", 1, &connect.Guard{})
	defer client.Close()
	away := func(err error) error { return feed.Away("the server cannot be read: " + err.Error()) }
	at, err := client.Time(ctx).Result()
	if err != nil {
		return nil, 0, away(err)
	}
	for _, key := range keys {
		s := decode.Sample{Key: key, Type: "none"}
		typ, err := client.Type(ctx, key).Result()
		if err == nil && typ != "none" {
			var asked *decode.Pending
			_, err = client.Pipelined(ctx, func(p redis.Pipeliner) error {
				asked = decode.Ask(ctx, p, decode.Fetch{Key: key, Type: typ, Bytes: shapeBytes, Pairs: shapeFields, Ends: shapeEnds})
				return nil
			})
			if err == nil {
				s, err = asked.Sample()
			}
		}
		if err != nil {
			return nil, 0, away(err)
		}
		samples = append(samples, s)
	}
	return samples, limiter.InstantOf(at), nil
}

// readingsOf works out what each reading that fits a key gives: that of the library whose layout it has,
// else the suggested ones.
func readingsOf(ctx context.Context, o feed.Options, s *decode.Sample, suggested []config.Suggestion, limit string, names report.Options) ([]reportedRead, error) {
	out := []reportedRead{}
	o.Keys, o.Watch = []string{s.Key}, nil
	read := func(rules []config.Rule, as string) error {
		o.Rules = rules
		src, err := feed.NewRedis(o)
		if err != nil {
			return usageError{err}
		}
		defer src.Close()
		batch, r, err := feed.ReadKey(ctx, src, s.Key)
		if err != nil {
			return err
		}
		k := report.KeyOf(&r, batch.At, names)
		if as == "" && (k.Library == nil || k.Evidence != "known") {
			return nil
		}
		if k.Algorithm != nil && *k.Algorithm == limiter.SlidingLog.String() && k.Window == nil {
			k.Used = nil // some of its entries may count no more
		}
		out = append(out, reportedRead{cmp.Or(as, "the layout of "+orDash(k.Library)), k.Library, k.Algorithm, k.Used, k.Limit, k.Window, k.Notes, nil, ""})
		return nil
	}
	configured := o.Rules
	if err := read(configured, ""); errors.As(err, new(feed.Away)) {
		return nil, err
	} // else it is of no known layout
	if len(out) > 0 {
		return out, nil // whose form is no other's
	}
	for _, g := range suggested {
		e := g.Entry
		if e.Limit = limit; limit != "" {
			e.Window = ""
		}
		rule, err := e.Rule()
		if err != nil { // its limit says how long its window is, and is not known
			out = append(out, reportedRead{As: g.As, Notes: []report.Text{"limit unknown"}})
		} else if err := read([]config.Rule{rule}, g.As); errors.As(err, new(feed.Away)) {
			return nil, err
		} else if err != nil {
			continue // it holds something else where its rule says so
		}
		last := &out[len(out)-1]
		last.Library = nil
		if g.Note != "" {
			last.Notes, last.Window = append(last.Notes, report.Text(g.Note)), nil
			if limit != "" && rule.Layout != nil {
				last.Window = new(report.Millis(rule.Layout.Limit.Window))
			}
		}
		e.Name = string(names.Name(e.Name))
		if e.Limit == "" {
			e.Limit, e.Window = "<LIMIT>/"+cmp.Or(e.Window, "<WINDOW>"), ""
		}
		last.Rule, last.words = e.Words()
	}
	return out, ctx.Err()
}

// JSON prints r as one object.
func (r readKeys) JSON(w io.Writer) error { return report.WriteJSON(w, r) }

// Text prints r for people: each key with a table of its readings and the rule of each.
func (r readKeys) Text(w io.Writer) error {
	var b strings.Builder
	for i, k := range r.Keys {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s\n", k.Key.Clean(), k.shape())
		if len(k.Readings) == 0 {
			b.WriteString("  no reading fits: it has no layout of a limiter that is known\n")
			continue
		}
		c := report.NewColumns("", "could be", "algorithm", ">used", ">limit", "per", "notes")
		for n, g := range k.Readings {
			var notes []string
			for _, note := range g.Notes {
				notes = append(notes, note.Clean())
			}
			c.Add(fmt.Sprint(n+1), g.As, orDash(g.Algorithm), report.Number(g.Used), report.Number(g.Limit), windowText(g.Window), strings.Join(notes, "; "))
		}
		b.WriteString(c.String())
		for n, g := range k.Readings {
			if g.words != "" {
				fmt.Fprintf(&b, "  rule %d  - %s\n", n+1, g.words)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shape says what a key is without what it holds.
func (k *readKey) shape() string {
	if k.Size == nil {
		return "it does not exist"
	}
	text, of := k.Type, "element"
	if k.Type == "string" {
		of = "byte"
	}
	text += ", " + format.Plural(int(*k.Size), of)
	if *k.TTL < 0 {
		return text + ", it never expires"
	}
	return text + ", it expires in " + (time.Duration(*k.TTL) * time.Millisecond).Round(100*time.Millisecond).String()
}
