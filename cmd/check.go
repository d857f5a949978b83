package cmd

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/script"
	"ratescope/feed/script/sandbox"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/model/bench"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
)

// checkFlags are those of check alone.
type checkFlags struct {
	keys, args, admitted, promise, save string
	markdown                            bool
	apart                               []string // paths and headers of an application
}

func newCheck(p *program) *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check SCRIPT.lua --limit 10/10s",
		Short: "Find out what a limiter script of yours really does",
		Long: "Put a limiter script to the test on an embedded Redis and a virtual clock: which algorithm it is, the most that it " +
			"admits in any window with the shortest traffic that shows it, and the faults that limiters have: a key without expiry, " +
			"requests that count once, a clock of the caller, a cost that is ignored. It exits with 1 where there is a fault.\n\n" +
			"A comment at the head of the script says how it is called, as the flags do:\n" +
			"  -- ratescope: keys rl:{who}; args {limit} {window_ms} {now_ms} {cost}; admitted 1\n\n" +
			"With --redis it runs on that server, as long as it holds no keys: expiries and TIME are made to follow the virtual clock there.",
		Example: "ratescope check limiter.lua --limit 10/10s\n" +
			"ratescope check limiter.lua --limit 100/1m --keys 'rl:{who}' --args '{limit} {window_s}' --admitted '>=0' --json",
	}
	p.jsonFlag(c)
	f.addCall(c)
	c.Flags().StringVar(&f.promise, "promise", "", "exact: more than the limit in any window is a fault, whatever the algorithm")
	c.Flags().BoolVar(&f.markdown, "markdown", false, "print the page as Markdown, for a review")
	c.Flags().StringVar(&f.save, "save", "", "folder for the counter-examples, as scenario files that verify and lab open")
	var web webCall
	c.Flags().StringVar(&web.URL, "url", "", "application whose limiter is judged from outside, in real time; needs --allow-inject")
	c.Flags().StringVarP(&web.Method, "request", "X", "", "with --url: the method (default GET)")
	c.Flags().StringArrayVarP(&web.Headers, "header", "H", nil, "with --url: a header, 'Name: value', or @FILE of them; may be repeated")
	c.Flags().StringVar(&web.Body, "body", "", "with --url: file with the body")
	c.Flags().StringArrayVar(&f.apart, "apart", nil, "with --url: a path (/other) or header ('X-Api-Key: other') of which to say "+
		"whether its limit is its own; may be repeated")
	return p.command(c, several, func(c *cobra.Command, args []string) error {
		switch {
		case web.URL == "" && len(args) != 1:
			return usagef("check needs one script and was given %d: name its file, or an application with --url", len(args))
		case web.URL != "" && len(args) > 0:
			return usagef("check is of a script or of an application: leave out %s, or --url", safetext.Clean(args[0]))
		case web.URL == "":
			return p.check(c, args[0], f)
		}
		limit, err := p.checkLimit()
		if err != nil {
			return err
		}
		return p.checkURL(c.Context(), web, limit, f, c.OutOrStdout(), c.ErrOrStderr())
	}, serverFlags, []string{"limit", "burst", "ascii", "allow-inject"})
}

// addCall adds the flags that say how a script is called.
func (f *checkFlags) addCall(c *cobra.Command) {
	c.Flags().StringVar(&f.keys, "keys", "", "keys of a call, by spaces: words in braces are filled in (default {who})")
	c.Flags().StringVar(&f.args, "args", "", "arguments of a call, by spaces: "+strings.Join(script.Words(), " ")+
		" (default {limit} {window_ms} {now_ms} {cost})")
	c.Flags().StringVar(&f.admitted, "admitted", "",
		"replies that admit: 1 (1 or true, alone or first of an array), 0, >=0, [2]=1, [allowed]=1, OK, nil, any; "+
			"/error behind it: an error denies")
}

// most that a script under test may be told: an experiment sends some hundred times the limit.
const mostChecked = 10_000

// checkLimit reads the limit that the script is to keep.
func (p *program) checkLimit() (limiter.Limit, error) {
	if p.Override.Limit == "" {
		return limiter.Limit{}, usagef("check needs the limit that the script is to keep: give --limit, as in --limit 10/10s")
	}
	l, err := limiter.ParseLimit(p.Override.Limit)
	if err != nil {
		return l, usageError{err}
	}
	if l.Count < 1 || l.Count > mostChecked {
		return l, usagef("--limit %s is out of range for check: give 1 to %d requests; a script that is told another limit decides alike",
			p.Override.Limit, mostChecked)
	}
	l.Burst = p.Override.Burst
	return l, nil
}

// call says how a script is called: by the flags, the comment at its head, or as usual.
func (f *checkFlags) call(text string) (call script.Call, costAsked bool, err error) {
	call, said, err := script.Head(text)
	if err != nil {
		return call, false, err
	}
	costAsked = said && !slices.Equal(call.Args, script.Default.Args) || f.args != ""
	if f.keys != "" {
		call.Keys = strings.Fields(f.keys)
	}
	if f.args != "" {
		call.Args = strings.Fields(f.args)
	}
	call, err = script.Parse(call.Keys, call.Args, cmp.Or(f.admitted, call.Admitted.String()))
	i := slices.Index(call.Args, "{cost}")
	return call, i >= 0 && (costAsked || strings.Contains(text, fmt.Sprintf("ARGV[%d]", i+1))), err
}

// check puts a script to the test and prints what came out.
func (p *program) check(c *cobra.Command, name string, f checkFlags) error {
	limit, err := p.checkLimit()
	if err != nil {
		return err
	}
	if f.promise != "" && f.promise != "exact" {
		return usagef("--promise %s is no promise that can be checked: use exact, or leave it out for what the algorithm promises",
			f.promise)
	}
	content, err := file.Read(name)
	if err != nil {
		return usageError{err}
	}
	text := string(content)
	call, asked, err := f.call(text)
	if err != nil {
		return usageError{err}
	}
	o := bench.Options{Limit: limit, Exact: f.promise == "exact", Cost: slices.Contains(call.Args, "{cost}"), CostAsked: asked}
	r, price, err := p.bench(c.Context(), sandbox.Script{Text: text, Call: call, Limit: limit}, o)
	if err != nil {
		if errors.As(err, new(usageError)) {
			return err
		}
		return fmt.Errorf("%s: %w", safetext.Clean(name), err)
	}
	if err := saveScenarios(f.save, &r); err != nil {
		return err
	}
	return f.print(checkPage{Report: &r, price: price, Name: filepath.Base(name), ascii: p.ascii}, p.json, c.OutOrStdout())
}

// print prints a page; a fault on it is an error.
func (f *checkFlags) print(page checkPage, asJSON bool, out io.Writer) (err error) {
	page.What, page.Why = page.is()
	switch {
	case asJSON:
		var content []byte
		if content, err = json.MarshalIndent(page.Report, "", "  "); err == nil {
			_, err = fmt.Fprintln(out, string(content))
		}
	case f.markdown:
		err = checkPages.ExecuteTemplate(out, "check.md", page)
	default:
		err = checkPages.ExecuteTemplate(out, "check.txt", page)
	}
	if err == nil && !page.OK() {
		var faults []string
		for _, f := range page.Findings {
			if f.Fault {
				faults = append(faults, string(f.ID))
			}
		}
		return exitError{1, fmt.Errorf("%s has a fault: %s", safetext.Clean(page.Name), strings.Join(slices.Compact(faults), ", "))}
	}
	return err
}

// bench runs the experiments on the embedded Redis, and has what came out confirmed by the server that was
// named. What the embedded one has not got is done on the server alone.
func (p *program) bench(ctx context.Context, s sandbox.Script, o bench.Options) (r bench.Report, price *sandbox.Price, err error) {
	embedded, err := sandbox.New(s)
	if err == nil {
		defer embedded.Close()
		if r, err = bench.Check(embedded, o); err != nil || len(p.Flags.URLs) == 0 {
			return r, nil, err
		}
	} else if !errors.Is(err, sandbox.ErrMissing) || len(p.Flags.URLs) == 0 {
		return r, nil, err
	}
	there, err := p.testServer(ctx, s)
	if err != nil {
		return r, nil, err
	}
	defer func() { err = errors.Join(err, there.Close()) }()
	if embedded == nil {
		r, err = bench.Check(there, o)
	} else {
		err = r.Confirm(embedded, there, "the server")
	}
	if err != nil || r.Commands == 0 {
		return r, nil, err
	}
	measured, err := there.Price(bench.Zero(o.Limit.Window))
	return r, &measured, err
}

// testServer opens the script on the server that was named, which has to be empty.
func (p *program) testServer(ctx context.Context, s sandbox.Script) (*sandbox.Sandbox, error) {
	if err := p.ask(); err != nil {
		return nil, err
	}
	o, err := p.Options()
	if err != nil {
		return nil, err
	}
	client, err := feed.Connect(o)
	if err != nil {
		return nil, usageError{err}
	}
	named := false
	if u, err := url.Parse(o.URLs[0]); err == nil {
		named = strings.Trim(u.Path, "/") != "" && u.Scheme != "unix" || u.Query().Has("db")
	}
	there, err := sandbox.NewOn(ctx, client, named, s)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server of --redis is not used: %w", err), client.Close())
	}
	return there, nil
}

// saveScenarios writes the counter-examples into a folder, a file each.
func saveScenarios(folder string, r *bench.Report) error {
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, f := range r.Findings {
		story := r.Scenario(f)
		if story == nil {
			continue
		}
		content, err := json.MarshalIndent(story, "", "  ")
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, string(f.ID)+".json"), append(content, '\n'), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

//go:embed pages
var pageFiles embed.FS

// checkPages are the forms in which a report is printed.
var checkPages = template.Must(template.New("").Funcs(template.FuncMap{
	"clean": safetext.Clean, "sentence": safetext.Sentence, "length": format.Length, "plural": format.Plural, "words": bench.Words,
	"join": func(list []string) string { return strings.Join(list, "; ") },
	"cell": func(text string) string { return strings.ReplaceAll(safetext.Sentence(text), "|", `\|`) },
}).ParseFS(pageFiles, "pages/*"))

// checkPage is a report on a page.
type checkPage struct {
	*bench.Report
	price     *sandbox.Price // nil where no real server was asked
	Name      string
	ascii     bool
	What, Why string // it is, and how that is known; print sets them
}

// is says in a line which algorithm it is, and in another how that is known.
func (p checkPage) is() (what, why string) {
	id := p.Identity
	if id.Algorithm == limiter.Unknown {
		if id.Asked == 0 {
			return "unknown", "its answers tell no algorithm: it denied nothing, or nothing but failures came"
		}
		if len(p.Alike) > 1 {
			names := collect.Map(p.Alike, describe.Title)
			return "one of: " + strings.Join(names, ", "), "its answers do not tell these apart"
		}
		return "unknown", fmt.Sprintf("the nearest algorithm answers %d of %d steps as it does", id.Agrees, id.Asked)
	}
	what = describe.Title(id.Algorithm)
	if p.Limit.Count > 0 && p.Limit.Window > 0 {
		what += fmt.Sprintf(", %d in %s", p.Limit.Count, format.Length(p.Limit.Window))
	}
	var words []string
	add := func(holds bool, word string) {
		if holds {
			words = append(words, word)
		}
	}
	kind := describe.KindOf(id.Algorithm)
	add(p.Limit.Burst > 0, fmt.Sprintf("burst %d", p.Limit.Burst))
	add(kind == describe.Log && id.Terms.Edge == convention.HalfOpen, "an entry as old as the window has left")
	add(kind == describe.Log && id.Terms.Edge == convention.Closed, "an entry as old as the window still counts")
	add(kind == describe.Window && !id.Renewed && id.Terms.Alignment == convention.Epoch, "windows by the clock")
	add(kind == describe.Window && !id.Renewed && id.Terms.Alignment == convention.FirstRequest, "windows from the first request")
	add(id.Renewed, "each request moves the window's end")
	add(id.Block == bench.Forever, "a denial blocks for ever")
	add(id.Block > 0 && id.Block < bench.Forever, "a denial blocks for "+format.Length(id.Block))
	add(kind == describe.Weighted, "previous × weight "+map[convention.Rounding]string{convention.Floor: "rounded down",
		convention.Exact: "exact", convention.Nearest: "rounded"}[id.Terms.Rounding])
	add(id.Terms.Refill == convention.Interval, "refilled at intervals")
	add(id.Grain > 0, "its clock shows whole "+format.Length(id.Grain))
	add(id.Charged != nil && *id.Charged, "denied requests are charged")
	add(id.Charged != nil && !*id.Charged, "denied requests are free")
	for o := id.Beside; o != nil; o = o.Beside {
		add(true, fmt.Sprintf("beside a %s of %d in %s", describe.Title(o.Algorithm), o.Limit.Count, format.Length(o.Limit.Window)))
	}
	add(p.Traffics == 1 && id.Algorithm.Bursts(), "a token or leaky bucket answers alike")
	what += "; " + strings.Join(words, ", ")
	why = fmt.Sprintf("it answers %s of %s as that does, and no candidate that answers otherwise is left", format.Plural(id.Asked, "step"),
		format.Plural(p.Traffics, "traffic"))
	if !id.Exact {
		switch why = fmt.Sprintf("the nearest: it answers %d of %d steps as that does", id.Agrees, id.Asked); id.Asked {
		case 0:
			why = "told by what it stores alone: its answers do not tell, for it denied nothing"
		case id.Agrees:
			why = fmt.Sprintf("it answers all of %s as that does; another may, too", format.Plural(id.Asked, "step"))
		}
	}
	return what, why
}

// WorstWindow says in words what the worst window holds.
func (p checkPage) WorstWindow() string {
	return fmt.Sprintf("%s: %s", p.most(), bench.Words(p.Worst.Steps))
}

// most is how many the worst window holds.
func (p checkPage) most() string {
	most := fmt.Sprintf("%d in %s", p.Worst.Admitted, format.Length(p.Told.Window))
	if p.Worst.AtLeast {
		most = "at least " + most
	}
	return most
}

// Costs says what a request costs.
func (p checkPage) Costs() []string {
	var list []string
	if p.Commands > 0 {
		list = append(list, format.Plural(p.Commands, "command")+" a request")
	}
	if t := p.Trim; t != nil {
		list = append(list, fmt.Sprintf("the last of %s removes %d entries in one call, while the server answers no other client: "+
			"remove a bounded number at a time", bench.Words(t.Steps), t.Entries))
	}
	if p.price != nil {
		if p.price.Micros > 0 {
			list = append(list, fmt.Sprintf("%.1f µs of the server, %.1f times \"return 1\"", p.price.Micros, p.price.Multiple))
		}
		list = append(list, fmt.Sprintf("%d, %d, %d bytes after 1, 10, 100 requests", p.price.Bytes[0], p.price.Bytes[1], p.price.Bytes[2]))
	}
	for i, k := range p.Keys {
		if i == 3 {
			list = append(list, fmt.Sprintf("and %d keys more", len(p.Keys)-i))
			break
		}
		life := "no expiry"
		if k.Expires >= 0 {
			life = "expires in " + format.Length(k.Expires)
		}
		what := fmt.Sprintf("%s of %d", k.Type, k.Size)
		if k.Type == "string" {
			what = k.Type
		}
		list = append(list, fmt.Sprintf("%s: %s when full, %s", safetext.Clean(k.Name), what, life))
	}
	return append(list, fmt.Sprintf("%s were sent", format.Plural(int(p.Requests), "request")))
}

// Picture draws the worst window: requests by time, and the window around those that count.
func (p checkPage) Picture() []string {
	const columns = 72
	steps, w := p.Worst.Steps, p.Told.Window
	begin, end := steps[0].At-w/8, max(steps[len(steps)-1].At, steps[0].At+w)+w/8
	at := func(t time.Duration) int { return min(int(int64(t-begin)*columns/int64(end-begin)), columns-1) }
	counts, most := make([]int64, columns), int64(0)
	for _, s := range steps {
		counts[at(s.At)] += s.N
		most = max(most, counts[at(s.At)])
	}
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	left, line, right := "├", "─", "┤"
	if p.ascii {
		blocks, left, line, right = []rune(" .:+*#"), "|", "-", "|"
	}
	bars := make([]rune, columns)
	for i, n := range counts {
		bars[i] = blocks[0]
		if n > 0 {
			bars[i] = blocks[1+int(n*int64(len(blocks)-2)/most)]
		}
	}
	from := at(steps[0].At)
	to := max(at(steps[0].At+w-time.Microsecond), from+2)
	label := fmt.Sprintf(" %s, limit %d ", p.most(), p.Told.Count)
	inside := []rune(strings.Repeat(line, max(to-from-1, 0)))
	if free := len(inside) - len([]rune(label)); free > 0 {
		copy(inside[free/2:], []rune(label))
	}
	return []string{strings.TrimRight(string(bars), " "), strings.Repeat(" ", from) + left + string(inside) + right}
}
