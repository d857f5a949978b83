package config

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"

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
	if s == nil {
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
	sum := sha1.Sum(text)
	s.fires = &model.Script{
		File: s.File, Digest: hex.EncodeToString(sum[:]), Text: string(text), Admits: s.Call.Admitted.Admits,
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
				return nil, nil, fmt.Errorf("its script is not called with %s, where its rule says that it is kept, so that a request could not be "+
					"taken back: name that key in keys of script, as in keys: [%q]", safetext.Clean(lead), l.Name.String())
			}
			return keys, args, nil
		},
	}
	return nil
}

// readScript reads file, keys, args and admitted.
func readScript(n *yaml.Node) (*Script, error) {
	s := Script{at: n}
	var keys, args []string
	admitted := ""
	err := fields(n, "script", []string{"file", "keys", "args", "admitted"}, map[string]func(*yaml.Node) error{
		"file": text(&s.File), "keys": texts(&keys), "args": texts(&args), "admitted": text(&admitted),
	})
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
