package session

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/report"
	"ratescope/themes"
	"ratescope/tui/chart"
	"ratescope/tui/shell"
	"ratescope/tui/state"
	"ratescope/tui/widget"
)

// Actions returns the actions that every screen with keys has. A screen puts its own actions before
// these, and defines up, down and the arrows itself.
func (s *Session) Actions() shell.Actions {
	live := s.inReplay("A replay only shows what was seen: nothing can be fired.", s.Orders.CanFire)
	adjusts := s.inReplay("", s.Orders.CanFire)
	never := func() string { return "" }
	faster, slower, filter := "", "", "filter" // what the footer calls + - /
	if s.Shown.Replayed() {
		faster, slower, filter = "faster", "slower", "" // the replay's own keys stand there
	}
	const nothing = "There is nothing to export yet."
	some := func() bool { return s.Selection.Current() != nil }
	list := shell.Actions{
		shell.Bind("fire", "fire", "space", "fires one request at the selected key",
			func() tea.Cmd { return s.Orders.Fire(model.Order{N: 1}) }).For(shell.ToAct).
			As(shell.Fire).In(shell.OfKey).Hinted("fire").Writing().When(live),
		shell.Bind("fire", "burst", "b", "fires a burst of N", func() tea.Cmd { return s.Orders.Fire(model.Order{N: s.Orders.Burst}) }).
			For(shell.ToAct).As(shell.Burst).In(shell.OfKey).Hinted("burst").Writing().When(live),
		shell.Bind("fire", "rate", "r", "starts and stops firing at a rate", s.Orders.ToggleRate).For(shell.ToAct).As(shell.Rate).
			In(shell.OfKey).Writing().When(live),
		shell.Bind("fire", "more", "+", "raises N or the rate; in a replay the speed", func() tea.Cmd { return s.adjust(true) }, "+", "=").
			As(shell.More).Hinted(faster).When(adjusts),
		shell.Bind("fire", "less", "-", "lowers N or the rate; in a replay the speed", func() tea.Cmd { return s.adjust(false) }, "-", "_").
			As(shell.Less).Hinted(slower).When(adjusts),
		shell.Bind("fire", "order", "~", "fires what you type: 60 5/s poisson cost:2", s.Orders.Compose).
			In(shell.OfKey).Writing().When(live),
		shell.Bind("fire", "hold fire", ";", "holds what is being fired; again goes on", s.Orders.Hold).When(live),
		shell.Bind("fire", "give room", "$", "gives the key room, frees or blocks it", s.Orders.OpenChanges).In(shell.OfKey).
			When(s.inReplay("A replay only shows what was seen: nothing can be changed.", never)),
		shell.Bind("fire", "burst at a copy", "d", "fires a burst at a scratch copy of the key",
			func() tea.Cmd { return s.Orders.Fire(model.Order{N: s.Orders.Burst, Scratch: true}) }).In(shell.OfKey).Writing().When(live),
		shell.Bind("fire", "undo", "U", "takes back what was fired or changed", s.Orders.OpenActions).In(shell.OfKey).Writing(),
		shell.Bind("fire", "without injected", `\`, "leaves what was fired from here out of all", s.subtractInjected),

		shell.Bind("keys", "filter", "/", "filters keys by name, state: note: lib: alg:", s.openFilter).For(shell.ToFind).
			Also("throttled denied search").Hinted(filter),
		shell.Bind("keys", "sort", "s", "sorts by the next column", s.Rows.NextSort).For(shell.ToFind),
		shell.Bind("keys", "reverse", "S", "reverses the order", s.Rows.Reverse),
		shell.Bind("keys", "pin", "P", "pins the key on top, to compare it", s.Selection.Pin).For(shell.ToFind).In(shell.OfKey),
		shell.Bind("keys", "copy", "y", "copies the row as text", s.copyRow).In(shell.OfKey),
		shell.Bind("keys", "identify", "W", "lists the limiters; you say which yours are", s.groups.open).In(shell.Server).Also("found"),
		shell.Bind("keys", "copy commands", "u", "copies commands that free or reset the key", s.copyLines).In(shell.OfKey),
		shell.Bind("keys", "export", "e", "exports all keys as they are now to JSON", s.Files.ExportKeys).As(shell.ExportKeys).
			In(shell.Save, shell.Folder),
		shell.Bind("keys", "csv", "E", "exports the rows as csv, md or jsonl", func() tea.Cmd {
			rows := s.Rows.Rows
			return AskFormat(s.Shell, format.Plural(len(rows), "key"), func(f report.Format) tea.Cmd { return s.Files.ExportRows(rows, f) })
		}).As(shell.ExportRows).In(shell.Save, shell.Folder).
			Unless(nothing, func() bool { return s.Options.Saving.ExportRows == nil || !some() }),
		shell.Bind("keys", "timeline", "V", "exports what the key did as csv, md or jsonl", func() tea.Cmd {
			key := s.Selection.Selected
			return AskFormat(s.Shell, s.Names.Of(key), func(f report.Format) tea.Cmd { return s.Files.ExportHistory(key, f) })
		}).In(shell.Save, shell.Folder).Unless(nothing, func() bool { return s.Options.Saving.History == nil || !some() }),
		shell.Bind("keys", "record", "F", "records to a file, or ends the recording", s.Files.ToggleRecording).As(shell.Record).
			In(shell.Save, shell.Folder).When(s.inReplay("This is a recording; R begins it anew.", never)),
		shell.Bind("time", "restart", "R", "begins a replay anew", func() { s.Shown.Drive(state.Player.Restart) }).Hinted("anew").
			Unless("Only a replay can begin anew; F records to a file.", func() bool { return !s.Shown.Replayed() }),
		shell.Bind("keys", "capsule", "I", "saves the last ten minutes in one file", s.Files.SaveCapsule).As(shell.Capsule).
			In(shell.Save, shell.Folder).Also("history").When(s.Files.NoCapsule),

		shell.Bind("time", "pause", "p", "pauses the picture; collecting goes on", s.Pause).For(shell.ToTime).As(shell.Pause).
			Hinted("pause"),
		shell.Bind("time", "go to", "g", "goes to a time you type: 14:02:11, 30s ago", s.askTime).For(shell.ToTime).Also("past history").
			Unless("There is no key yet.", func() bool { return !some() }),
	}
	return append(append(list, ZoomActions(s.Shell, s.Shown.Time.Zoom)...), s.Marks.Actions()...)
}

// ZoomActions returns the keys that call zoom, which reports whether the stretch of time could be made longer (coarser) or
// shorter.
func ZoomActions(app *shell.App, zoom func(coarser bool) bool) shell.Actions {
	to := func(coarser bool, extreme string) func() {
		return func() {
			if !zoom(coarser) {
				app.Say("This is the " + extreme + " stretch of time there is.")
			}
		}
	}
	return shell.Actions{
		shell.Bind("time", "zoom out", "[", "shows a longer stretch of time", to(true, "longest")).For(shell.ToTime).As(shell.ZoomOut),
		shell.Bind("time", "zoom in", "]", "shows a shorter stretch; so does dragging", to(false, "shortest")).For(shell.ToTime).
			As(shell.ZoomIn),
	}
}

// inReplay returns why an action is not possible: why in a replay, which may be "", else what live returns.
func (s *Session) inReplay(why string, live func() string) func() string {
	return func() string {
		if s.Shown.Replayed() {
			return why
		}
		return live()
	}
}

// TimeActions returns the arrows that go through time.
func (s *Session) TimeActions() shell.Actions {
	return shell.Actions{
		shell.Bind("time", "earlier", "← h", "goes back in time, and pauses", func() { s.Scroll(true) }, "left", "h").For(shell.ToTime),
		shell.Bind("time", "later", "→ l", "goes on in time", func() { s.Scroll(false) }, "right", "l").For(shell.ToTime),
	}
}

// openFilter asks for the filter of the rows.
func (s *Session) openFilter() {
	p := s.Shell.NewPrompt("/", s.Rows.Filter(), "enter keeps it · esc clears it", s.Selection.SetFilter,
		func(text string, kept bool) tea.Cmd {
			if !kept {
				s.Selection.SetFilter("")
			}
			return nil
		},
		s.Selection.Move)
	p.Suggest(state.Suggestions())
	s.Shell.Open(p)
}

// back returns what leads from the past or a pause to now, then what clears the filter; nil for neither.
func (s *Session) back() func() {
	switch {
	case s.Shown.Paused():
		return s.Pause
	case s.Rows.Filter() != "":
		return func() { s.Selection.SetFilter("") }
	}
	return nil
}

// adjust raises or lowers what + and - change: the speed of a replay, or the amount of requests that
// are fired.
func (s *Session) adjust(up bool) tea.Cmd {
	if !s.Shown.Replayed() {
		return s.Orders.Adjust(up)
	}
	s.Shown.Drive(func(p state.Player) { p.Faster(up) })
	return s.Shell.Say("Speed: " + speedText(s.Shown.Playback().Speed) + ".")
}

// askTime asks for an instant of the past, and shows it under the cursor.
func (s *Session) askTime() tea.Cmd {
	hint := "14:02:11, a date before it, or 30s for as long ago · enter goes"
	return s.Shell.Open(s.Shell.NewPrompt("go to ", "", hint, nil, func(text string, kept bool) tea.Cmd {
		if !kept || strings.TrimSpace(text) == "" {
			return nil
		}
		end := s.Shown.LiveAt()
		if s.Shown.Replayed() && strings.Contains(text, ":") { // a time of day means the nearest one in the recording
			p := s.Shown.Playback()
			end = min(max(s.Shown.At().Add(12*time.Hour), p.Begin.Add(24*time.Hour)-1), p.End)
		}
		at, ok := format.ReadMoment(text, s.Shown.At(), end)
		if !ok {
			return s.Shell.Warn("A time is " + format.Moments + ".")
		}
		return s.Visit(s.Selection.Selected, at)
	}, nil))
}

// AskFormat asks for the format of an export; what names the exported data.
func AskFormat(app *shell.App, what string, export func(report.Format) tea.Cmd) tea.Cmd {
	formats := collect.Map([]report.Format{report.CSV, report.Markdown, report.JSONLines},
		func(f report.Format) shell.Choice { return shell.Choice{Name: string(f), Value: f} })
	return app.Choose("export "+what+" as", formats, func(c shell.Choice) tea.Cmd { return export(c.Value.(report.Format)) })
}

// copyLines puts the redis-cli lines that would free or reset the selected key on the
// clipboard. Nothing is run.
func (s *Session) copyLines() tea.Cmd {
	k := s.Selection.Current()
	switch {
	case k == nil:
		return nil
	case s.Options.Mask:
		return s.Shell.Warn("The lines would name the key in full, which --mask hides.")
	case s.Shown.Board().Server.Embedded:
		return s.Shell.Warn("The embedded Redis has no address for redis-cli: $ frees or blocks the key.")
	}
	s.Shell.Say("Copied: the redis-cli lines for " + s.Names.Of(k.Reading.Key) + ". Read them before you run them.")
	return tea.SetClipboard(report.CommandLines(&k.Reading, s.Shown.Board().Server, s.Shown.LiveAt()))
}

// openTargets lists the commands that watch another Redis. Enter copies one; none of them is run.
func openTargets(app *shell.App) tea.Cmd {
	return app.Choose("watch another Redis: enter copies", []shell.Choice{
		{Name: "ratescope --redis redis://HOST:6379", Detail: "watches the limiters that it finds"},
		{Name: "ratescope --redis redis://HOST:6379 --watch 'rl:*' --limit 100/1m",
			Detail: "watches the keys that you name, by your limit"},
		{Name: "ratescope identify --redis redis://HOST:6379", Detail: "lists the limiters there"},
		{Name: "ratescope", Detail: "shows the demo on its own Redis"},
	}, func(c shell.Choice) tea.Cmd {
		app.Say("Copied: " + c.Name)
		return tea.SetClipboard(c.Name)
	})
}

// TermsText formats a limit in the form of the what-if prompt: without a limit, where it is not known, to
// type it after.
func TermsText(t model.Target) string {
	text := t.Algorithm.String() + " "
	if t.LimitKnown && t.Limit.Count > 0 && t.Window > 0 {
		text += fmt.Sprintf("%d/%s", t.Limit.Count, format.Length(t.Window))
	}
	if t.Limit.Burst > 0 {
		text += fmt.Sprintf(" burst %d", t.Limit.Burst)
	}
	return text
}

// ParseTerms parses an algorithm, a limit and a burst in any order; a term that is left out is that of
// as. A factor, such as x2, multiplies the limit before it and its burst, with a space before it or
// without. ok is false if the text is incomplete or a word is none of these.
func ParseTerms(text string, as model.Target) (t model.Target, ok bool) {
	t = model.Target{Algorithm: as.Algorithm, Limit: as.Limit, LimitKnown: true, Window: as.Window}
	words := strings.Fields(factored.ReplaceAllString(text, "$1 x"))
	for i, word := range words {
		if a, err := limiter.ParseAlgorithm(word); err == nil {
			t.Algorithm, ok = a, true
			continue
		}
		if l, err := limiter.ParseLimit(word); err == nil {
			l.Burst = t.Limit.Burst
			t.Limit, t.Window, ok = l, l.Window, true
			continue
		}
		if factor, err := strconv.ParseFloat(strings.TrimPrefix(word, "x"), 64); word[0] == 'x' && err == nil && factor > 0 &&
			factor <= mostFactor {
			t.Limit.Count, t.Limit.Burst = times(t.Limit.Count, factor), times(t.Limit.Burst, factor)
			ok = true
			continue
		}
		var burst int64
		if n, err := fmt.Sscan(word, &burst); i > 0 && words[i-1] == "burst" && n == 1 && err == nil && burst > 0 {
			t.Limit.Burst, ok = burst, true
			continue
		}
		if word != "doubles" && (word != "burst" || i+1 == len(words)) { // as the prompt says of x2
			return t, false
		}
	}
	return t, ok && t.Limit.Count > 0 && t.Window > 0 && t.Algorithm != limiter.Unknown
}

// factored finds a factor that follows a limit without a space, as where it is typed after the limit that
// stands in the prompt.
var factored = regexp.MustCompile(`(\d(?:ns|us|µs|ms|s|m|h|d)?)x`)

// mostFactor is the greatest factor.
const mostFactor = 1000

// times multiplies a count and rounds the product. A count whose product could overflow is returned
// unchanged.
func times(count int64, factor float64) int64 {
	if count > math.MaxInt64/mostFactor/2 {
		return count
	}
	return int64(math.Round(float64(count) * factor))
}

// OtherTerms are the terms of a question "what if". The zero OtherTerms ask nothing.
type OtherTerms struct {
	On    bool // the terms are understood
	Terms model.Target

	text string // as typed
}

// Ask opens the prompt for other terms in place of those of as, and calls changed whenever o changes.
// Text that is not understood asks nothing, so that an answer on screen is always to the text in the prompt.
func (o *OtherTerms) Ask(app *shell.App, as model.Target, note string, changed func()) {
	wrong := "not understood: as in gcra 100/1m"
	switch kind := describe.KindOf(as.Algorithm); {
	case as.LimitKnown:
	case kind == describe.Arrival, kind == describe.Bucket:
		app.Warn("The requests of a " + as.Algorithm.String() + " key are not known without its limit: " +
			"give it with --limit 100/1m or in a rule.")
		return
	default:
		wrong = "its limit is not known: type one, as in " + as.Algorithm.String() + " 100/1m"
	}
	o.text = cmp.Or(o.text, TermsText(as))
	var p *shell.Prompt
	try := func(text string) {
		o.text = text
		o.Terms, o.On = ParseTerms(text, as)
		p.Complain(collect.If(o.On, "", wrong))
		changed()
	}
	p = app.NewPrompt("what if ", o.text, note, try, func(_ string, kept bool) tea.Cmd {
		if !kept || !o.On {
			*o = OtherTerms{}
			changed()
		}
		return nil
	}, nil)
	try(o.text)
	limit := strings.TrimPrefix(TermsText(as), as.Algorithm.String())
	p.Suggest(collect.Map(limiter.Algorithms(), func(a limiter.Algorithm) string { return a.String() + limit }))
	app.Open(p)
}

// WhatIfWords returns what became of requests and what would have become of them under other terms, a sentence each, the most
// important first.
func WhatIfWords(w *model.WhatIf, l *chart.Look) (all [][]widget.Span) {
	say := func(st themes.Style, text string) { all = append(all, []widget.Span{widget.Styled(text, st)}) }
	say(l.Text, "admitted "+format.Short(w.Was)+" → "+format.Short(w.Admitted))
	say(l.Denied, "denied "+WasDenied(w)+" → "+format.Short(w.Denied))
	if w.Longest > 0 {
		say(l.Dim, "waits up to "+format.Span(w.Longest))
	}
	if w.Differs == 0 {
		say(l.Dim, "no request would have met another fate")
	} else {
		say(l.Dim, "differs first at "+format.ClockMillis(w.Differs)+": "+collect.If(w.Stricter, "denies", "admits")+" more")
	}
	return all
}

// WasDenied is how many requests were denied in truth, as far as that is known.
func WasDenied(w *model.WhatIf) string {
	switch {
	case w.DeniedKnown:
		return format.Short(w.WasDenied)
	case w.WasDenied > 0:
		return "≥ " + format.Short(w.WasDenied)
	}
	return format.Unknown
}
