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
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/script"
	"ratescope/feed/script/sandbox"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/limiter/scenario"
	"ratescope/model/bench"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

type checkFlags struct {
	keys, args, admitted, promise, save, reason string
	markdown                                    bool
	apart                                       []string // paths and headers of an application
}

func newCheck(p *program) *cobra.Command {
	var f checkFlags
	c := helped("check SCRIPT.lua --limit 10/10s")
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
	c.Flags().StringVar(&f.reason, "reason", "", "with --url: why, for the audit file")
	return p.command(c, several, func(c *cobra.Command, args []string) error {
		var err error
		switch {
		case web.URL == "" && len(args) != 1:
			return usagef("check needs one script and was given %d: name its file, or an application with --url", len(args))
		case web.URL != "" && len(args) > 0:
			return usagef("check is of a script or of an application: leave out %s, or --url", safetext.Clean(args[0]))
		case f.promise != "" && f.promise != "exact":
			return usagef("--promise %s is no promise that can be checked: use exact, or leave it out for what the algorithm promises",
				f.promise)
		case web.URL != "":
			err = misplaced(c, "--%s is for a script: leave it out with --url", "save", "keys", "args", "admitted", "redis")
		default:
			err = cmp.Or(misplaced(c, "--%s is for an application: give --url, too", "apart", "request", "header", "body", "reason"),
				misplaced(c, "--%s names no server that a script is checked on: give --redis, as in --redis redis://localhost:6379/9", "target"))
		}
		limit, wrong := checkLimit(p.Override)
		if err = cmp.Or(err, wrong); err != nil {
			return err
		}
		if web.URL == "" {
			return p.check(c, args[0], limit, f)
		}
		return p.checkURL(c.Context(), web, limit, f, c.OutOrStdout(), c.ErrOrStderr())
	}, serverFlags, []string{"limit", "burst", "ascii", "allow-inject"})
}

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

func checkLimit(told config.Override) (limiter.Limit, error) {
	if told.Limit == "" {
		return limiter.Limit{}, usagef("check needs the limit that the script is to keep: give --limit, as in --limit 10/10s")
	}
	l, err := limiter.ParseLimit(told.Limit)
	if err != nil {
		return l, usage(err)
	}
	if l.Count < 1 || l.Count > mostChecked {
		return l, usagef("--limit %s is out of range for check: give 1 to %d requests; a script that is told another limit decides alike",
			told.Limit, mostChecked)
	}
	l.Burst = told.Burst
	return l, nil
}

// read reads a script, and how it is called: by the flags, the comment at its head, or as usual. The error is an error of usage.
func (f *checkFlags) read(name string) (text string, call script.Call, costAsked bool, err error) {
	defer func() { err = usage(err) }()
	content, err := file.Read(name)
	if err != nil {
		return "", call, false, err
	}
	text = string(content)
	call, said, err := script.Head(text)
	if err != nil {
		return "", call, false, err
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
	return text, call, i >= 0 && (costAsked || strings.Contains(text, fmt.Sprintf("ARGV[%d]", i+1))), err
}

func (p *program) check(c *cobra.Command, name string, limit limiter.Limit, f checkFlags) error {
	text, call, asked, err := f.read(name)
	if err != nil {
		return err
	}
	o := bench.Options{Limit: limit, Exact: f.promise == "exact", Cost: slices.Contains(call.Args, "{cost}"), CostAsked: asked}
	r, price, err := p.bench(c.Context(), sandbox.Script{Text: text, Call: call, Limit: limit}, o)
	if err != nil {
		if errors.As(err, new(exitError)) {
			return err
		}
		return fmt.Errorf("%s: %w", safetext.Clean(name), err)
	}
	if err := saveScenarios(f.save, &r); err != nil {
		return err
	}
	return f.print(checkPage{Report: &r, Price: price, Name: filepath.Base(name), ascii: p.look.ascii}, p.json, c.OutOrStdout())
}

// print prints a page; a fault on it is an error.
func (f *checkFlags) print(page checkPage, asJSON bool, out io.Writer) (err error) {
	switch {
	case asJSON:
		err = report.WriteJSON(out, page.Report)
	case f.markdown:
		err = textPages().ExecuteTemplate(out, "check.md", page)
	default:
		err = textPages().ExecuteTemplate(out, "check.txt", page)
	}
	if err == nil && !page.OK() {
		faults := collect.Map(collect.Only(page.Findings, func(f bench.Finding) bool { return f.Fault }),
			func(f bench.Finding) string { return string(f.ID) })
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
	named, err := p.Options()
	if err != nil {
		return r, nil, err
	}
	there, err := testServer(ctx, named, s)
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
func testServer(ctx context.Context, o feed.Options, s sandbox.Script) (*sandbox.Sandbox, error) {
	client, err := feed.Connect(o)
	if err != nil {
		return nil, usage(err)
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

// textPages are the forms in which reports are printed.
var textPages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(identifyWords).Funcs(template.FuncMap{
		"join": strings.Join, "word": report.Word,
		"clean": safetext.Clean, "sentence": safetext.Sentence, "length": format.Length, "plural": format.Plural, "words": bench.Words,
		"title": describe.Title, "terms": scenario.Words, "forever": func() time.Duration { return bench.Forever },
		"is":     func(flag *bool) bool { return flag != nil && *flag },
		"log":    func(a limiter.Algorithm) bool { return describe.KindOf(a) == describe.Log },
		"quoted": func(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" },
		"some":   func(v *int64) bool { return v != nil && *v != 0 },
		"number": func(i int) int { return i + 1 },
		"fields": func(s string) string { return strings.Join(strings.Fields(s), " ") },
		"millis": func(us int64) string { return strconv.FormatFloat(float64(us)/1000, 'f', 2, 64) },
		"clock":  func(ms int64) string { return time.UnixMilli(ms).UTC().Format("15:04:05.000") }, "wait": report.Wait,
		"capital": func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
		"instant": func(ms *int64) string { return report.Instant(*ms) },
		"cell":    func(text string) string { return strings.ReplaceAll(safetext.Sentence(text), "|", `\|`) },
	}).ParseFS(pageFiles, "pages/*"))
})

type checkPage struct {
	*bench.Report
	Price *sandbox.Price // nil where no real server was asked
	Name  string
	ascii bool
}

// Most is how many the worst window holds.
func (p checkPage) Most() string {
	most := fmt.Sprintf("%d in %s", p.Worst.Admitted, format.Length(p.Told.Window))
	if p.Worst.AtLeast {
		most = "at least " + most
	}
	return most
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
	label := fmt.Sprintf(" %s, limit %d ", p.Most(), p.Told.Count)
	inside := []rune(strings.Repeat(line, max(to-from-1, 0)))
	if free := len(inside) - len([]rune(label)); free > 0 {
		copy(inside[free/2:], []rune(label))
	}
	return []string{strings.TrimRight(string(bars), " "), strings.Repeat(" ", from) + left + string(inside) + right}
}
