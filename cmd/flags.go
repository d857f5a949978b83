package cmd

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/fire"
	"ratescope/feed/watch"
	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/themes"
	"ratescope/tui/session"
	"ratescope/tui/shell"
)

func (p *program) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&p.Flags.URLs, "redis", nil, "server to watch by its URL: "+
		"redis://, rediss://, unix://, or redis+sentinel://host:26379/name; several, or ?cluster=true, are a cluster; "+
		"?replica=true reads replicas of a cluster or of a sentinel's master (env RATESCOPE_REDIS)")
	f.StringVar(&p.Target, "target", "", "server that the configuration names under targets")
	f.StringVar(&p.PasswordFile, "password-file", "",
		"file whose first line is the server's password (env RATESCOPE_PASSWORD_FILE, or the password itself in REDISCLI_AUTH)")
	f.BoolVar(&p.askpass, "askpass", false, "ask for the server's password at the terminal")
	f.StringArrayVar(&p.Flags.Watch, "watch", nil, "glob pattern of the keys to watch, may be repeated (default: every key)")
	f.StringVar(&p.Override.Limit, "limit", "", "how much the keys admit in how long, 100/1m or 10/s; wins over the config file")
	f.StringVar(&p.Override.Algorithm, "algorithm", "auto",
		"how the keys are limited, wins over the config file: "+strings.Join(algorithmNames(), ", "))
	f.Int64Var(&p.Override.Burst, "burst", 0, "how much GCRA and the buckets admit at once (default: the limit's count)")
	f.StringVar(&p.Config, "config", "", "file of rules in YAML: match, algorithm, limit, window; the first match wins "+
		"(default: "+configFile+" in the XDG config folders)")
	f.BoolVar(&p.allow, "allow-inject", false, "allow firing requests at the server; without it nothing is written")
	f.DurationVar(&p.Flags.Refresh, "refresh", watch.DefaultRefresh, "time between two readings, 20ms to 1m")
	f.StringVar(&p.Budget, "budget", "", "share of the server's time that watching may take, from 0.1 to 50 percent "+
		"(default: 1, and up to 10 for the first look at every key while the server is idle)")
	f.StringVar(&p.Flags.TLS.CA, "tls-ca", "",
		"certificate file (PEM) of the authority that signed the server's certificate, for rediss://")
	f.StringVar(&p.Flags.TLS.Cert, "tls-cert", "", "certificate file (PEM) of the client")
	f.StringVar(&p.Flags.TLS.Key, "tls-key", "", "key file (PEM) of the client")
	f.StringVar(&p.Flags.TLS.ServerName, "tls-server-name", "", "name that the server's certificate must bear (default: the host's)")
	p.look.add(f)
	f.BoolVar(&p.names.Mask, "mask", false, "hide the middle of key names")
	f.StringVar(&p.debug, "debug", "", "file to append to, a JSON line each, how long every message of the screen and "+
		"every round trip to the server took; no key and no value")
}

func algorithmNames() []string {
	return append([]string{"auto"}, collect.Map(limiter.Algorithms(), limiter.Algorithm.String)...)
}

func flagError(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if meant, slipped := config.Closest(unknown.GetSpecifiedName(), names); slipped {
			return usagef("%w: did you mean --%s?", err, meant)
		}
	}
	value, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return usagef("%w; %q lists what there is", err, c.CommandPath()+" --help")
	}
	want := map[string]string{
		"duration": "a duration, as in 200ms", "bool": "true or false", "float64": "a number, as in 0.9",
	}[value.GetFlag().Value.Type()]
	return usagef("--%s does not take %q: give %s", value.GetFlag().Name, value.GetValue(), cmp.Or(want, "a whole number"))
}

// ask checks --fps, and asks for a password with --askpass.
func (p *program) ask() error {
	if p.look.fps < 1 || p.look.fps > 60 {
		return usagef("--fps %d is out of range: give 1 to 60", p.look.fps)
	}
	if !p.askpass || p.Flags.Password != "" {
		return nil
	}
	if !term.IsTerminal(os.Stdin.Fd()) {
		return usagef("--askpass needs a terminal on its input: use --password-file or REDISCLI_AUTH")
	}
	fmt.Fprint(os.Stderr, "Password: ")
	text, err := term.ReadPassword(os.Stdin.Fd())
	fmt.Fprintln(os.Stderr)
	if err != nil {
		return fmt.Errorf("the password cannot be read: %w", err)
	}
	if p.Flags.Password = connect.Secret(text); p.Flags.Password == "" {
		return usagef("--askpass was given no password: type it and press enter")
	}
	return nil
}

// firing returns whether requests may be fired at a server that is not embedded, with the remedy if its target in the configuration
// forbids what the flag allows. It is to be called after open.
func (p *program) firing() fire.Options {
	o := fire.Options{Armed: p.allow && !p.target.NoInject, Production: p.target.Production}
	if p.allow && !o.Armed {
		o.Refused = "its target in the configuration says inject: false"
	}
	return o
}

func (p *program) jsonFlag(c *cobra.Command) {
	c.Flags().BoolVar(&p.json, "json", false, "print one JSON object")
}

func (p *program) output(c *cobra.Command) output {
	return output{Out: c.OutOrStdout(), Err: c.ErrOrStderr(), JSON: p.json, Names: p.names}
}

// look holds the flags that say how the screens look.
type look struct {
	theme, notify       string
	ascii, plain, still bool
	fps                 int
}

func (l *look) add(f *pflag.FlagSet) {
	f.StringVar(&l.theme, "theme", "", "the dashboard's colours: "+strings.Join(themes.BuiltIn().Names(), ", ")+
		", or a file NAME.theme of yours in ratescope/themes in the XDG config folder (default: by the terminal's background)")
	f.IntVar(&l.fps, "fps", 10, "frames a second at most, 1 to 60")
	f.BoolVar(&l.ascii, "ascii", false, "draw with ASCII alone")
	f.BoolVar(&l.still, "no-animation", false, "change the picture once a second; in the lab, by steps and seeks alone")
	f.StringVar(&l.notify, "notify", "bell", "what an alert that begins does beside its banner: none, bell, "+
		"or desktop for a notification where the terminal can")
	f.BoolVar(&l.plain, "plain", false, "follow along in lines of plain text, for scripts and screen readers")
}

// options returns what the flags say to a screen, with the user's own themes beside the built-in ones.
func (l *look) options() (shell.Options, error) {
	shelf, err := themes.BuiltIn().Add(os.DirFS(filepath.Join(xdg.ConfigHome, "ratescope", "themes")))
	if err == nil && l.theme != "" {
		_, err = shelf.Find(l.theme)
	}
	return shell.Options{Shelf: shelf, Theme: l.theme, ASCII: l.ascii || asciiOnly(), Still: l.still}, usage(err)
}

// asciiOnly reports whether the locale says that the terminal has no UTF-8. One that says
// nothing is taken for one that has it, as most terminals today.
func asciiOnly() bool {
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return locale != "" && !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
}

// lines reports whether what happens is told in lines of text: when that was said, and on a
// terminal that can do nothing else.
func (l *look) lines(terminal bool) bool { return l.plain || terminal && os.Getenv("TERM") == "dumb" }

// question returns what asks the person at the terminal; nil where input, or the file that the question is written to, is no
// terminal.
func question(to *os.File) func(string) (string, error) {
	if !term.IsTerminal(os.Stdin.Fd()) || !term.IsTerminal(to.Fd()) {
		return nil
	}
	answers := bufio.NewReader(os.Stdin)
	return func(question string) (string, error) {
		fmt.Fprint(to, question)
		text, err := answers.ReadString('\n')
		return strings.TrimSpace(text), err
	}
}

func (l *look) notifying() (session.Notify, error) {
	ways := map[string]session.Notify{"none": session.NotifyNot, "bell": session.NotifyBell, "desktop": session.NotifyDesktop}
	way, known := ways[l.notify]
	if !known {
		return 0, usagef("--notify does not take %q: give none, bell or desktop", l.notify)
	}
	return way, nil
}
