package config

import (
	"bytes"
	"crypto/sha1"
	_ "embed" // of count.lua and log.lua
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ratescope/feed/decode/form"
	"ratescope/feed/script"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
)

// Script is how the program's own script is called, for firing at limiters of its own.
// The zero value has no text, and is not fired.
type Script struct {
	File string
	Call script.Call

	at    *yaml.Node    // where the rule says it
	fires *model.Script // nil: the file was not read
}

// Fires returns the script as requests are fired by it; nil if s is nil or its file was not read.
func (s *Script) Fires() *model.Script {
	if s == nil {
		return nil
	}
	return s.fires
}

// load reads the script's file, whose name may be relative to a folder, for the limiters of a layout.
func (s *Script) load(folder string, l *form.Layout) error {
	if s == nil || s.fires != nil {
		return nil
	}
	path := s.File
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	text, err := file.Read(path)
	switch {
	case err != nil:
		return at(s.at, "the script of the rule, whose file is relative to the configuration, cannot be read: %w", err)
	case len(bytes.TrimSpace(text)) == 0:
		return at(s.at, "the script %q is empty: correct file, which is relative to the configuration", safetext.Clean(s.File))
	}
	s.compile(string(text), "", l)
	return nil
}

// compile makes text, which writes what plain says where it is not the program's own, the script by which requests are fired at the
// limiters of a layout.
func (s *Script) compile(text, plain string, l *form.Layout) {
	sum := sha1.Sum([]byte(text))
	s.fires = &model.Script{
		File: s.File, Digest: hex.EncodeToString(sum[:]), Text: text, Plain: plain, Admits: s.Call.Admitted.Admits,
		Expand: func(name string, limit limiter.Limit, at limiter.Instant, cost int64, id string) (keys, args []string, err error) {
			who, window, lead, ok := l.Subject(name, at)
			if !ok {
				return nil, nil, fmt.Errorf("its name does not say who is limited: name the key of one subject of %s", l.Name.String())
			}
			call := s.Call
			call.Keys = slices.Clone(call.Keys)
			for n, key := range call.Keys {
				call.Keys[n] = window.Replace(key)
			}
			keys, args = call.Expand(script.Values{Who: who, Limit: limit, Now: at, Cost: cost, ID: id})
			if !slices.Contains(keys, lead) {
				return nil, nil, fmt.Errorf("its script is not called with %s, where its rule says that it is kept, so that a "+
					"request could not be taken back: name that key in keys of script, as in keys: [%q]", safetext.Clean(lead),
					l.Name.String())
			}
			return keys, args, nil
		},
	}
}

// Requests that are certain without the program's own script: of a counter and of a log that are there. Neither touches the expiry.
var (
	//go:embed count.lua
	plainCount string
	//go:embed log.lua
	plainLog string
)

// plainScript returns the script of requests at the limiters of a layout whose rule has none, nil where what their program writes
// is not certain.
func plainScript(l *form.Layout) *Script {
	text, plain := "", ""
	switch alone := l.Block.Kind == "" && !strings.Contains(l.Name.String(), "*") && l.Sum < 2 && l.Weigh+l.Weight == ""; {
	case alone && l.Read.Kind == "value" && !l.Left && (l.Ends.Kind == "name" || l.Ends.Kind == "expiry"):
		text, plain = plainCount, "INCRBY, with the expiry that the key has"
	case alone && l.IsLog() && l.Unit != 0:
		text, plain = plainLog, "ZADD, in the unit of its rule, with the expiry that the key has"
	default:
		return nil
	}
	s := &Script{Call: script.Default}
	s.Call.Keys = []string{l.Name.String()}
	s.Call.Args = append(slices.Clone(s.Call.Args), strconv.FormatBool(l.Charged), strconv.FormatInt(int64(l.Unit), 10), "{id}")
	s.compile(text, plain, l)
	return s
}

func readScript(n *yaml.Node) (*Script, error) {
	s := Script{at: n}
	var keys, args []string
	admitted := ""
	err := fields(n, "script", word{"file", text(&s.File)}, word{"keys", texts(&keys)}, word{"args", texts(&args)},
		word{"admitted", text(&admitted)})
	switch {
	case err != nil:
		return nil, err
	case s.File == "":
		return nil, at(n, "file is missing: say where the script is, as in script: {file: limiter.lua}")
	case keys == nil:
		return nil, at(n, "keys is missing: say which keys the script is called with, as in keys: [\"rl:{who}\"]")
	}
	if s.Call, err = script.Parse(keys, args, admitted); err != nil {
		return nil, at(n, "%w", err)
	}
	return &s, nil
}
