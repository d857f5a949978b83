package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/identify"
	"ratescope/model/report"
)

// teacher finds the readings that fit limiters of one's own, and writes the rule of one of them.
type teacher struct {
	p      *program
	server ruled
	mu     sync.Mutex                 // held while a rule is written or taken back, and for looks
	looks  map[string][]decode.Sample // of each key, in their order
}

// seen returns all looks at the keys of samples, which are the latest.
func (t *teacher) seen(samples []decode.Sample) (all [][]decode.Sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range samples {
		key := samples[i].Key
		t.looks[key] = append(t.looks[key], samples[i])
		all = append(all, slices.Clone(t.looks[key]))
	}
	return all
}

// teach returns what finds the readings that fit a group; nil where src takes no rules, or is the embedded demo.
func (p *program) teach(src server) func(ctx context.Context, g identify.Group, limit string) ([]identify.Fit, error) {
	o, err := p.Options()
	server, ok := src.(ruled)
	if err != nil || !ok || len(o.URLs) == 0 {
		return nil
	}
	t := &teacher{p: p, server: server, looks: map[string][]decode.Sample{}}
	return t.fits
}

// fits returns the readings that fit a group, the likeliest first, with what each gives for its examples under a
// limit, which may be "".
func (t *teacher) fits(ctx context.Context, g identify.Group, limit string) ([]identify.Fit, error) {
	o, err := t.p.Options()
	if err != nil {
		return nil, err
	}
	samples, now, err := samplesOf(ctx, o, g.Examples)
	if err != nil {
		return nil, err
	}
	samples = slices.DeleteFunc(samples, func(s decode.Sample) bool { return !s.Exists() })
	if len(samples) == 0 {
		return nil, fmt.Errorf("none of %s is there now: try again when requests come", t.p.names.Name(g.Pattern).Clean())
	}
	suggested, err := fitting(ctx, o, g.Pattern, t.seen(samples), g.Bans, now)
	if err != nil {
		return nil, err
	}
	samples = samples[:min(len(samples), mostExamples)]
	left := func(s config.Suggestion) bool { return strings.HasPrefix(s.As, config.AsLeft) }
	if e, _, ok := config.Named(samples[0].Key, g.Pattern, 0, now); ok && slices.Contains(g.Why, model.Unmoved) { // as watching told
		e.Read = "present"
		others := slices.DeleteFunc(suggested, func(s config.Suggestion) bool { return s.As == config.AsPresent })
		suggested = slices.Insert(others, 0, config.Suggestion{Entry: e, As: config.AsPresent})
	} else if at := slices.IndexFunc(suggested, left); at > 0 && g.Left {
		suggested = slices.Concat(suggested[at:at+1], suggested[:at], suggested[at+1:])
	}
	var fits []identify.Fit
	for _, s := range config.Zoned(suggested) {
		fit, err := t.fit(ctx, o, samples, s, limit)
		if err != nil {
			return nil, err
		}
		fits = append(fits, fit)
	}
	return fits, nil
}

// fitting returns the readings that fit keys of a pattern, completed by what stands beside these. looks are the samples of each
// in their order.
func fitting(
	ctx context.Context, o feed.Options, pattern string, looks [][]decode.Sample, bans []string, now limiter.Instant,
) ([]config.Suggestion, error) {
	list, latest := []config.Suggestion(nil), []decode.Sample(nil)
	for _, its := range looks {
		for _, s := range slices.Backward(its) {
			fit := config.Suggest(&s, pattern, s.At)
			if len(list) == 0 || len(fit) > 0 && (strings.Contains(fit[0].Entry.Name, "{window") || // what is over was of now, or ahead
				fit[0].Unsure == "" && fit[0].Entry.Stamp+fit[0].Entry.At != "") {
				list = fit
			}
		}
		if s := its[len(its)-1]; s.Exists() {
			latest = append(latest, s)
		}
	}
	if list = config.Settle(list, looks); len(latest) == 0 {
		return list, nil
	}
	base, _, _ := config.Named(latest[0].Key, pattern, 0, latest[0].At)
	return config.Beside(list, base, latest, bans, now, func(keys []string) ([]decode.Sample, error) {
		samples, _, err := samplesOf(ctx, o, keys)
		return samples, err
	})
}

// fit works out one reading of the keys of samples.
func (t *teacher) fit(
	ctx context.Context, o feed.Options, samples []decode.Sample, s config.Suggestion, limit string,
) (identify.Fit, error) {
	e := s.Entry
	if count, burst, _ := strings.Cut(limit, " burst "); limit != "" {
		e.Limit = strings.TrimSpace(count)
		e.Burst, _ = strconv.ParseInt(burst, 10, 64)
	}
	if e.Limit != "" {
		e.Window = ""
	}
	fit := identify.Fit{As: s.As, Note: s.Note, Unsure: s.Unsure}
	rule, err := e.Rule()
	if err == nil && e.Limit != "" {
		fit.Write = func() (identify.Taught, error) { return t.write(e, rule) }
	}
	says := make([]string, len(samples))
	if err == nil {
		group, ctx := errgroup.WithContext(ctx)
		for i := range samples {
			group.Go(func() error {
				b, r, err := readBy(ctx, o, []config.Rule{rule}, samples[i].Key)
				switch {
				case errors.As(err, new(feed.Away)) || ctx.Err() != nil:
					return err
				case err != nil: // the key holds something else
					says[i] = err.Error()
				default:
					says[i] = figuresOf(&r, b, &rule, t.p.names)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return fit, err
		}
	}
	for i := range samples {
		k := shapeOf(&samples[i], t.p.names)
		fit.Figures = append(fit.Figures, identify.Figures{Key: k.Key.Clean(), Shape: strings.Replace(k.shape(), "it expires", "ends", 1),
			Says: cmp.Or(says[i], "not known without the limit")})
	}
	shown := e
	shown.Name = string(t.p.names.Name(e.Name))
	if shown.Limit == "" {
		shown.Limit, shown.Window = "<LIMIT>", ""
	}
	_, fit.Rule = shown.Words()
	return fit, nil
}

// write adds a rule to the configuration file and applies it. Where there is no folder for the file, the rule holds
// until the program ends.
func (t *teacher) write(e config.Entry, rule config.Rule) (identify.Taught, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	path, err := writtenConfig(t.p)
	if err != nil {
		return identify.Taught{Undo: func() error { return t.adopt(&t.p.adopted, rule, false) }}, t.adopt(&t.p.adopted, rule, true)
	}
	before, err := file.ReadAny(path, file.MaxText)
	if err != nil {
		return identify.Taught{}, err
	}
	after, err := config.Merge(before, []config.Entry{e})
	if err != nil {
		return identify.Taught{}, fmt.Errorf("%s: %w", path, err)
	}
	if err := file.Replace(path, before, after); err != nil {
		return identify.Taught{}, err
	}
	return identify.Taught{Where: path, Undo: func() error {
		t.mu.Lock()
		defer t.mu.Unlock()
		err := file.Replace(path, after, before)
		if err == nil && before == nil {
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
		return t.adopt(&t.p.written, rule, false)
	}}, t.adopt(&t.p.written, rule, true)
}

// adopt adds a rule to a list of the settings and applies it before those of the file, or takes it back.
func (t *teacher) adopt(list *[]config.Rule, rule config.Rule, on bool) error {
	s := &t.p.settings
	s.mu.Lock()
	if *list = slices.DeleteFunc(*list, func(r config.Rule) bool { return r.Pattern() == rule.Pattern() }); on {
		*list = append(*list, rule)
	}
	c := cmp.Or(s.latest, s.loaded)
	s.mu.Unlock()
	all, err := s.Rules(c)
	if err == nil {
		t.server.SetRules(all)
	}
	return err
}

// shapeOf returns what a key is without what it holds.
func shapeOf(s *decode.Sample, names report.Options) readKey {
	k := readKey{Key: names.Name(s.Key), Type: s.Type, Readings: []reportedRead{}}
	if s.Exists() {
		k.TTL, k.Size = new(report.Millis(s.TTL)), new(s.Length)
	}
	return k
}
