// Package settings turns what a person wrote on the command line, in the environment and
// in the file of rules into the server that is to be watched.
package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adrg/xdg"

	"ratescope/feed"
	"ratescope/feed/connect"
	"ratescope/feed/inject"
	"ratescope/feed/rules"
	"ratescope/limiter"
)

// ConfigFile is where the rules are when nobody says where, in the XDG config folders.
const ConfigFile = "ratescope/config.yaml"

// Settings are the words that say what is watched and how, as they were written. The
// zero value of a field is what a person leaves out; Refresh and Budget have to be given.
type Settings struct {
	Redis                    []string // URLs; none means those in RATESCOPE_REDIS, or else the embedded server
	Watch                    []string // globs; none means every key
	Limit, Algorithm, Config string
	Burst                    int64
	Refresh                  time.Duration
	Budget                   string // a share of the server's time, "1%"
	TLS                      connect.TLSFiles
}

// UsageError is an error in how the program was called.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Server is a source together with the hand that can fire at what it watches.
type Server interface {
	feed.Source
	feed.Focuser
	Injector(inject.Options) *inject.Injector
	Close() error
}

// Open prepares the server that the settings name, or the embedded one. With keys, only
// these are looked at. It does not connect yet; the error is a UsageError, unless the
// embedded server cannot be had.
func (s *Settings) Open(keys ...string) (Server, error) {
	o, err := s.options()
	if err != nil {
		return nil, UsageError{err}
	}
	if len(keys) > 0 {
		o.Keys, o.Watch = keys, nil
	}
	if len(o.URLs) == 0 {
		e, err := feed.NewEmbedded(o)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	r, err := feed.NewRedis(o)
	if err != nil {
		return nil, UsageError{err}
	}
	return r, nil
}

// URLs are those that were given, else those of the environment.
func (s *Settings) URLs() []string {
	if len(s.Redis) > 0 {
		return s.Redis
	}
	return strings.Fields(os.Getenv("RATESCOPE_REDIS"))
}

// options reads the words, and checks those that no one else looks at.
func (s *Settings) options() (feed.Options, error) {
	o := feed.Options{URLs: s.URLs(), Watch: s.Watch, Refresh: s.Refresh, TLS: s.TLS}
	switch {
	case s.Refresh < 20*time.Millisecond || s.Refresh > time.Minute:
		return o, fmt.Errorf("--refresh %v is out of range: give 20ms to 1m", s.Refresh)
	case slices.Contains(s.Watch, ""):
		return o, errors.New("--watch is empty: give a pattern, as in 'rl:*'")
	}
	var err error
	if o.Rules, err = s.rules(); err != nil {
		return o, err
	}
	o.Budget, err = share(s.Budget)
	return o, err
}

// rules are those of the config file with the flags put over them. The file in the XDG
// folders speaks of the user's own servers, so the embedded one does without it.
func (s *Settings) rules() ([]rules.Rule, error) {
	path := s.Config
	if path == "" && len(s.URLs()) > 0 {
		path, _ = xdg.SearchConfigFile(ConfigFile) // "" when there is none
	}
	return rules.Read(path, rules.Spoken{Limit: s.Limit, Algorithm: s.Algorithm, Burst: s.Burst})
}

// Spoken lists how keys are said to be limited, one text a rule, for whoever reads it
// later. It says nothing about settings that are wrong.
func (s *Settings) Spoken() []string {
	list, err := s.rules()
	if err != nil {
		return nil
	}
	spoken := make([]string, 0, len(list))
	for _, r := range list {
		text := r.Match
		if r.Algorithm != limiter.Unknown {
			text += " " + r.Algorithm.String()
		}
		if r.LimitKnown {
			text += fmt.Sprintf(" %d/%v", r.Limit.Count, r.Limit.Window)
		}
		if text != r.Match {
			spoken = append(spoken, text)
		}
	}
	return spoken
}

// share reads a percentage as a share of 1.
func share(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !strings.HasSuffix(text, "%") || !(v >= 0.1 && v <= 50) {
		return 0, fmt.Errorf("--budget %q is no share: give 0.1%% to 50%%", text)
	}
	return v / 100, nil
}
