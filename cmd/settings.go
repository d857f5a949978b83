package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/adrg/xdg"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/demo"
	"ratescope/feed/fire"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model/safetext"
)

// configFile is the default configuration file, in the XDG config folders.
const configFile = "ratescope/config.yaml"

// settings are what the command line and the environment say about what is watched and how.
// Flags fill Flags directly where they need no reading: URLs, Watch, Refresh, TLS, and the
// Password that was typed at a prompt. Options completes them. The zero value of a field is a
// flag that was left out; Refresh must be given.
type settings struct {
	Environment environment

	Flags        feed.Options    // no URLs mean those of the target or the environment, or else the embedded server
	Override     config.Override // what the flags say of the limits of all keys
	Target       string          // a target of the configuration
	Config       string          // file; "" the default one
	Budget       string          // a share of the server's time, "1%"; "" is the default of watch.Options
	PasswordFile string
	NewConfig    bool // the file of Config need not be there yet

	commands []string       // that a name may have been meant for instead of a target
	loaded   *config.Config // once it was read

	mu      sync.Mutex
	adopted []config.Rule  // rules that were adopted and are in no file
	written []config.Rule  // rules that were adopted and written to the file, until it is read again
	latest  *config.Config // that came in while the file was followed; nil while loaded is the latest
	target  config.Target  // of the configuration; zero without one
}

// server is a source together with the injector that can fire at the keys it watches.
type server interface {
	feed.Source
	feed.Focuser
	Injector(fire.Options) *fire.Injector
	Close() error
}

// open prepares to watch the server that the settings name, or the embedded one. With keys, only
// these are looked at. It does not connect yet; the error is an error of usage, unless the
// embedded server cannot be had.
func (p *program) open(keys ...string) (server, error) {
	o, err := p.Options()
	if err != nil {
		return nil, err
	}
	if len(keys) > 0 {
		o.Keys, o.Watch = keys, nil
	}
	if len(o.URLs) == 0 {
		e, err := demo.New(o)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	r, err := feed.NewRedis(o)
	if err != nil {
		return nil, usage(err)
	}
	return r, nil
}

// opened runs f with the server that open prepares, and closes it.
func (p *program) opened(f func(src server) error, keys ...string) error {
	src, err := p.open(keys...)
	if err != nil {
		return err
	}
	defer src.Close()
	return f(src)
}

// Options completes the flags by the configuration, its target and the environment, and asks for a password with --askpass.
// The error is an error of usage.
func (p *program) Options() (o feed.Options, err error) {
	if err := p.ask(); err != nil {
		return o, err
	}
	defer func() { err = usage(err) }()
	switch {
	case p.Flags.Refresh < 20*time.Millisecond || p.Flags.Refresh > time.Minute:
		return o, fmt.Errorf("--refresh %v is out of range: give 20ms to 1m", p.Flags.Refresh)
	case slices.Contains(p.Flags.Watch, ""):
		return o, errors.New("--watch is empty: give a pattern, as in 'rl:*'")
	}
	loaded, err := p.Loaded()
	if err != nil {
		return o, err
	}
	o = p.Flags
	of := p.target.TLS
	o.TLS = connect.TLSFiles{CA: cmp.Or(o.TLS.CA, of.CA), Cert: cmp.Or(o.TLS.Cert, of.Cert), Key: cmp.Or(o.TLS.Key, of.Key),
		ServerName: cmp.Or(o.TLS.ServerName, of.ServerName)}
	switch {
	case len(o.URLs) > 0:
	case p.Target != "":
		o.URLs = p.target.Redis
	default:
		o.URLs = p.Environment.URLs
	}
	if len(o.Watch) == 0 {
		o.Watch = p.target.Watch
	}
	if o.Rules, err = p.Rules(loaded); err != nil {
		return o, err
	}
	if o.Budget, err = share(p.Budget); err != nil || len(o.URLs) == 0 {
		return o, err
	}
	o.Password, err = p.password()
	return o, err
}

// ConfigPath returns the configuration file that is read, "" for none. The file in the XDG
// folders speaks of the user's own servers, so that the embedded one does without it.
func (s *settings) ConfigPath() string {
	if s.Config != "" {
		return s.Config
	}
	if len(s.Flags.URLs) == 0 && len(s.Environment.URLs) == 0 && s.Target == "" {
		return ""
	}
	return defaultConfigPath()
}

// defaultConfigPath returns the file in the XDG config folders, "" when there is none.
func defaultConfigPath() string {
	path, _ := xdg.SearchConfigFile(configFile)
	return path
}

// Loaded returns the configuration, which it reads once, and finds the target in it. The error is an error of usage.
func (s *settings) Loaded() (_ *config.Config, err error) {
	if s.loaded != nil {
		return s.loaded, nil
	}
	defer func() { err = usage(err) }()
	path := s.ConfigPath()
	if _, err := os.Stat(path); s.NewConfig && errors.Is(err, fs.ErrNotExist) {
		path = ""
	}
	c, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	if s.Target != "" {
		if len(s.Flags.URLs) > 0 {
			return nil, fmt.Errorf("the target %q and --redis both name a server: give one of them", s.Target)
		}
		t, known := c.Targets[s.Target]
		names := slices.Sorted(maps.Keys(c.Targets))
		meant, slipped := config.Closest(s.Target, append(names, s.commands...))
		switch {
		case known:
			s.target = t
		case slipped:
			return nil, fmt.Errorf("there is no command or target %q: did you mean %s?", s.Target, meant)
		case path == "":
			return nil, fmt.Errorf("there is no command or target %q, and no configuration file: see --help for the commands, or name the "+
				"server under targets in the file that \"ratescope config init\" writes", s.Target)
		default:
			return nil, fmt.Errorf("there is no command or target %q: see --help for the commands, the targets of %s are %s", s.Target, path,
				cmp.Or(strings.Join(names, ", "), "none"))
		}
	}
	s.loaded = c
	return c, nil
}

// Rules returns the rules of a configuration with those that were adopted before them and the
// flags put over all. It is safe for concurrent use.
func (s *settings) Rules(c *config.Config) ([]config.Rule, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Override.Apply(slices.Concat(s.written, s.adopted, c.Rules))
}

// RuleTexts lists the rules as text, one a rule, for the header of a recording. It returns
// nil for settings that are wrong.
func (s *settings) RuleTexts() []string {
	c, err := s.Loaded()
	if err != nil {
		return nil
	}
	list, err := s.Rules(c)
	if err != nil {
		return nil
	}
	texts := make([]string, 0, len(list))
	for _, r := range list {
		text := r.Match
		if r.Algorithm != limiter.Unknown {
			text += " " + r.Algorithm.String()
		}
		if r.LimitKnown {
			text += fmt.Sprintf(" %d/%v", r.Limit.Count, r.Limit.Window)
		}
		if text != r.Match {
			texts = append(texts, text)
		}
	}
	return texts
}

// share reads a percentage as a share of 1; "" is 0.
func share(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !strings.HasSuffix(text, "%") || !(v >= 0.1 && v <= 50) {
		return 0, fmt.Errorf("--budget %q is no share: give 0.1%% to 50%%", text)
	}
	return v / 100, nil
}

// environment is what the environment of the process says about the server.
type environment struct {
	URLs         []string // RATESCOPE_REDIS
	PasswordFile string   // RATESCOPE_PASSWORD_FILE
	Password     string   // REDISCLI_AUTH
}

// takeEnvironment reads the environment and removes what may hold a password from it, so
// that no program that is started from here, such as the command of an alert, inherits it.
func takeEnvironment() environment {
	e := environment{
		URLs:         strings.Fields(os.Getenv("RATESCOPE_REDIS")),
		PasswordFile: os.Getenv("RATESCOPE_PASSWORD_FILE"),
		Password:     os.Getenv("REDISCLI_AUTH"),
	}
	os.Unsetenv("RATESCOPE_REDIS")
	os.Unsetenv("REDISCLI_AUTH")
	return e
}

// commandTime bounds the program that prints a password.
const commandTime = 10 * time.Second

// password returns the password of the server: of --askpass, --password-file, the target,
// RATESCOPE_PASSWORD_FILE or REDISCLI_AUTH, the first of them that is there. One in the
// URL goes before those of the environment.
func (s *settings) password() (connect.Secret, error) {
	given, err := s.GivenPassword()
	switch {
	case given != "" || err != nil:
		return given, err
	case s.target.PasswordFile != "":
		return passwordIn(s.target.PasswordFile)
	case len(s.target.PasswordCommand) > 0:
		return passwordOf(s.target.PasswordCommand)
	case s.Environment.PasswordFile != "":
		return passwordIn(s.Environment.PasswordFile)
	}
	return connect.Secret(s.Environment.Password), nil
}

// GivenPassword returns the password that the command line gives, "" where it gives none. Those of the
// environment and of targets are for Redis.
func (s *settings) GivenPassword() (connect.Secret, error) {
	switch {
	case s.Flags.Password != "" && s.PasswordFile != "":
		return "", usage(errors.New("--askpass and --password-file both give a password: give one of them"))
	case s.PasswordFile == "":
		return s.Flags.Password, nil
	}
	password, err := passwordIn(s.PasswordFile)
	return password, usage(err)
}

func passwordIn(name string) (connect.Secret, error) {
	text, err := file.Read(name)
	if err != nil {
		return "", err
	}
	return firstLine(text, "the password file "+safetext.Clean(name))
}

// passwordOf runs a program, without a shell, and takes the first line that it prints.
func passwordOf(command []string) (connect.Secret, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	text, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("the password_command %s does not give a password: %w", safetext.Clean(command[0]), err)
	}
	return firstLine(text, "the password_command "+safetext.Clean(command[0]))
}

func firstLine(text []byte, where string) (connect.Secret, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if p := strings.TrimRight(string(line), "\r"); p != "" {
		return connect.Secret(p), nil
	}
	return "", fmt.Errorf("%s has no password in its first line", where)
}
