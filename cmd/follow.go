package cmd

import (
	"cmp"
	"context"

	"ratescope/feed/config"
	"ratescope/model"
	"ratescope/model/identify"
)

// ruled is a server whose rules can be replaced while it is watched.
type ruled interface {
	SetRules([]config.Rule)
}

// followed is a server that follows its configuration file.
type followed struct {
	server
	settings *settings
	path     string
	changed  func(*config.Config, error)
}

// Follow returns src with its rules replaced whenever the configuration file changes. Rules
// that are wrong leave those before in place. changed gets every new configuration, or what is
// wrong with it, from another goroutine; it may be nil.
func (s *settings) Follow(src server, changed func(*config.Config, error)) server {
	path := s.ConfigPath()
	if path == "" {
		return src
	}
	return &followed{server: src, settings: s, path: path, changed: changed}
}

// Run implements feed.Source.
func (f *followed) Run(ctx context.Context, emit func(model.Batch)) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		config.Follow(ctx, f.path, f.apply)
	}()
	err := f.server.Run(ctx, emit)
	cancel()
	<-done
	return err
}

// apply puts a new configuration in place.
func (f *followed) apply(c *config.Config, err error) {
	var list []config.Rule
	if err == nil {
		f.settings.mu.Lock()
		f.settings.latest = c
		f.settings.mu.Unlock()
		list, err = f.settings.Rules(c)
	}
	if server, ok := f.server.(ruled); ok && err == nil {
		server.SetRules(list)
	}
	if f.changed != nil {
		f.changed(c, err)
	}
}

// Adopter returns what makes a rule of a group of limiters for as long as src is watched, before
// those of the file; nil where src takes no rules.
func (s *settings) Adopter(src server) func(identify.Group) error {
	server, ok := src.(ruled)
	if !ok {
		return nil
	}
	return func(g identify.Group) error {
		r := config.Rule{Match: g.Pattern, Library: g.Library, Algorithm: g.Algorithm, Window: g.Window}
		r.Limit.Window = g.Window
		if g.LimitFrom != model.NoLimit && g.Window > 0 {
			r.Limit, r.LimitKnown = g.Limit, true
		}
		s.mu.Lock()
		s.adopted = append(s.adopted, r)
		c := cmp.Or(s.latest, s.loaded)
		s.mu.Unlock()
		list, err := s.Rules(c)
		if err == nil {
			server.SetRules(list)
		}
		return err
	}
}
