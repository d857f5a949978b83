package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// likelyMark marks keys that are only likely to be limiters.
const likelyMark = "~"

// Mark returns the mark of a key's pressure, and its style.
func (t *teller) Mark(k *model.Watched, l chart.Look) (string, themes.Style) {
	g := &k.Gauge
	if _, old := t.shown.Outdated(k); old {
		return l.StaleMark, l.Unknown
	}
	switch {
	case g.Likely:
		return likelyMark, l.Unknown
	case k.Reading.Err != "":
		return l.BadMark, l.Unknown
	case k.Gone:
		return l.IdleMark, l.Dim
	case g.Throttled():
		return l.OverMark, l.Denied
	case k.State(t.shown.At()) == model.WasThrottled:
		return l.EasedMark, l.Near
	case g.Near():
		return l.NearMark, l.Near
	case !g.NextKnown:
		return l.BadMark, l.Unknown
	case g.Used.N == 0:
		return l.IdleMark, l.Dim
	}
	return l.OKMark, l.Dim
}

// UsedText formats used/limit in at most so many columns, ten or more. Both numbers are shortened,
// and neither is cut, because a cut number would look like another one.
func UsedText(k *model.Watched, columns int) string {
	text := ""
	for _, short := range [...]func(int64) string{format.Short, format.Brief} {
		t, used, limit := k.Reading.Target, format.Unknown, format.Unknown
		if k.Gauge.Used.Known {
			used = short(k.Gauge.Used.N)
		}
		if t.LimitKnown {
			limit = "∞"
			if t.Limit.Count > 0 {
				limit = short(model.Capacity(t))
			}
		}
		if text = used + "/" + limit; safetext.Width(text) <= columns {
			break
		}
	}
	return text
}

// NextText says in at most so many columns, five or more, when a request is admitted.
func NextText(g *model.Gauge, columns int) string {
	switch {
	case !g.NextKnown:
		return format.Unknown
	case g.Next == 0:
		return "now"
	case g.Next < time.Second:
		return format.Wait(g.Next)
	}
	return format.SpanIn(g.Next, columns)
}

// LimitText writes a limit in words.
func LimitText(t model.Target) string {
	switch {
	case t.LimitKnown && t.Limit.Count == 0:
		return "count only in " + format.Length(t.Window)
	case t.LimitKnown:
		return format.Short(t.Limit.Count) + " in " + format.Length(t.Window)
	case t.Window > 0:
		return "limit unknown in " + format.Length(t.Window)
	}
	return "limit unknown"
}

// RowText writes a key in one line of plain text.
func RowText(k *model.Watched, name string) string {
	g, t := &k.Gauge, k.Reading.Target
	text := name + "  " + describe.Title(t.Algorithm) + "  " + UsedText(k, 11)
	if t.Window > 0 {
		text += " in " + format.Length(t.Window)
	}
	if pace := g.Pace(); pace.Known {
		text += "  " + format.PerSecond(pace.V)
	}
	return text + "  next " + NextText(g, 6)
}

// copyRow puts the selected row on the clipboard.
func (s *Session) copyRow() tea.Cmd {
	k := s.Selection.Current()
	if k == nil {
		return nil
	}
	text := RowText(k, FullName(k.Reading.Key, s.Options.Mask))
	s.Shell.Say("Copied: " + text)
	return tea.SetClipboard(text)
}

// Searching returns what to say of a board without a key, and what to do; "" where there is nothing to.
func Searching(b *model.Board) (text, remedy string) {
	w := b.Sweep
	switch n := len(w.Candidates); {
	case w.Passes == 0:
		return fmt.Sprintf("Looking for rate limits… %s keys scanned.", format.Short(w.Scanned)), ""
	case len(b.Server.Lacks) > 0:
		return "No rate limit was found, and " + safetext.Clean(b.Server.Lacks[0]), ""
	case n > 0:
		return "No key is known to be a rate limit; of " + format.Plural(n, "kind") + " of keys that may be, W says what they are.", ""
	case w.Complete() && w.Keys == 0 && w.Total == 0:
		return "There is no key on this server yet.", ""
	}
	text, remedy = "No key looks like a rate limit yet", `W says which of them may be, and "ratescope identify", too.`
	if narrow := safetext.Clean(strings.Join(w.Patterns, " or ")); narrow != "" && narrow != "*" {
		text, remedy = "No key matches "+narrow+" yet", "Start with another --watch, or without it for every key."
	}
	if n := w.Seen(); n > 0 {
		text += ", of " + format.Thousands(n) + " looked at"
	}
	return text + "; still looking.", remedy
}

// searchedFrom is the number of keys from which the progress of a search is shown. A search of fewer
// keys takes hardly any time.
const searchedFrom = 10_000

// SearchedText returns the progress of the first search for limiters, such as "34% of 1.0M keys
// searched"; "" if it is over or short.
func SearchedText(w *model.Sweep) string {
	if w.Passes > 0 || w.Total < searchedFrom {
		return ""
	}
	return fmt.Sprintf("%d%% of %s keys searched", int(100*min(w.Scanned, w.Total)/w.Total), format.Short(w.Keys))
}

// LikelyText returns the word for keys that are likely limiters. Where very many are named alike, so
// that only some of them are looked at, it says how many are not: "likely, 12k alike not looked at".
func LikelyText(w *model.Sweep) string {
	if w.Sampled == 0 {
		return "likely"
	}
	return fmt.Sprintf("likely, %s alike not looked at", format.Short(w.Sampled))
}

// likelyText says of keys that are likely limiters, in at most so many columns where it can, how many would deny, and what to do
// where few others are known.
func (h header) likelyText(t *model.Totals, columns int) string {
	text, above, remedy := LikelyText(&h.s.Shown.Live().Sweep), "", ""
	if t.Above > 0 {
		above = fmt.Sprintf(", %s above the limit", format.Short(int64(t.Above)))
	}
	if 2*(t.Likely+t.Unknown) > t.Keys && !h.s.Shown.Replayed() {
		remedy = ": W says what they are"
	}
	return cmp.Or(format.First(columns, text+above+remedy, text+remedy, "likely: W"), text)
}

// UnseenText says how many more throttled keys the rest of the first search may yet find, where so many
// are known; "" where that is not known.
func UnseenText(w *model.Sweep, throttled int) string {
	most, known := w.UnseenAtMost(throttled)
	if !known {
		return ""
	}
	return fmt.Sprintf("at most %s more throttled (95%%)", format.Short(most))
}

// BehindText says of how many keys it is not known whether they are throttled now; "" where of none.
func BehindText(w *model.Sweep) string {
	if w.Behind == 0 {
		return ""
	}
	return format.Short(int64(w.Behind)) + " of " + format.Plural(w.Matched, "key") + " not read for a second"
}

// PaceText says how much of the server the first search may take and why, as in "idle server: up to
// 10%"; "" where it is as much as always.
func PaceText(w *model.Sweep) string {
	state, told := map[model.Pace]string{model.PaceIdle: "idle server", model.PaceBusy: "busy server"}[w.Pace]
	if !told {
		return ""
	}
	return fmt.Sprintf("%s: up to %.3g%%", state, 100*w.Share)
}

// legend returns what the shapes mean, each in its colour: the same on every screen.
func legend(p *widget.Canvas) []widget.Span {
	l := &p.Look
	sign := func(shape, meaning string, st themes.Style) widget.Span { return widget.Styled(shape+"\t"+meaning, st) }
	full := string(l.Rise[len(l.Rise)-1])
	return []widget.Span{
		sign(full+full+" "+l.YesMark, "admitted", l.Admitted),
		sign(string(l.Cross)+string(l.Cross)+" "+l.OverMark, "denied; a key that denies the next request", l.Denied),
		sign(string(l.Slot), "frees: the next request is admitted", l.Admitted),
		sign(l.EasedMark, "was throttled a moment ago", l.Near),
		sign(l.NearMark, "near: 80 % of the limit are used, or more", l.Near),
		sign(l.OKMark+" "+l.IdleMark, "ok; at rest", l.Good),
		sign(string(l.MarkYes)+" "+string(l.MarkNo), "fired from here: admitted, denied", l.Injected),
		sign(l.BadMark+" "+format.Unknown, "not known; never 0", l.Unknown),
		sign(l.StaleMark+" "+string(l.Gap)+string(l.Gap), "stale: as last seen; not watched", l.Unknown),
		sign(string(l.Half)+string(l.Half), "counts of the previous window", l.Previous),
		sign(string(l.Gone)+string(l.Gone), "counts no more", l.Dim),
		sign(strings.Repeat(string(l.Limit), 3), "the limit", l.Denied),
		sign(string(l.Edge)+" "+string(l.Tick), "a clock-aligned window begins", l.Dim),
		sign(l.PinMark, "pinned", l.Text),
		sign(string(l.Flag), "a moment of a replay that was marked", l.Title),
	}
}

// Subject returns the key or the server that an alert is about.
func Subject(e *model.Alert, name func(key string) string) string {
	switch ofKeys := e.What <= model.Left; {
	case ofKeys && e.Key == "" && e.N > 0:
		keys := collect.If(e.N == 1, "1 key", format.Thousands(e.N)+" keys")
		if e.Pattern != "" {
			return keys + " " + name(e.Pattern)
		}
		for i, key := range e.First {
			if told := name(key); key != "" && told != "" {
				keys += collect.If(i == 0, ": ", ", ") + told
			}
		}
		return keys
	case e.Key != "" || ofKeys:
		return name(e.Key)
	}
	return "the server"
}

// AlertText says what an alert is about, without its subject. It is true of the moment of the alert.
func AlertText(e *model.Alert) string {
	many, limit := e.Key == "" && e.N > 0, ""
	if e.Limit.Count > 0 {
		limit = " by " + format.Short(e.Limit.Count) + " in " + format.Length(e.Limit.Window)
	}
	switch e.What {
	case model.BecameThrottled:
		if many {
			return "became throttled"
		}
		return "is throttled" + limit
	case model.NoLongerThrottled:
		if many {
			return "were free again"
		}
		text := "was free again after " + collect.If(e.Since, "at least ", "") + format.Span(e.For)
		if e.For < time.Second && !e.Since { // looked at a few times a second: thousandths are not known
			text = "was free again at once"
		}
		if e.N > 0 {
			text += fmt.Sprintf(", %s denied", format.Short(e.N))
		}
		return text
	case model.BecameClose:
		if many {
			return "came near their limits"
		}
		return "came near its limit" + strings.Replace(limit, " by", ",", 1)
	case model.BecameUnreadable:
		return collect.If(many, "each ", "") + safetext.Clean(e.Text)
	case model.Appeared:
		return "appeared"
	case model.Left:
		return "left the server"
	case model.LinkLost:
		return "is away: " + safetext.Clean(e.Text)
	}
	if text := serverText(e); text != "" {
		return text
	}
	return "is back after " + format.Wait(e.For)
}

// EventText says what an alert is about, with its subject where that is no key.
func EventText(e *model.Alert) string {
	if e.Key != "" {
		return AlertText(e)
	}
	return Subject(e, func(string) string { return "" }) + " " + AlertText(e)
}

// serverText says what happened to the server beside its link; "" for other alerts.
func serverText(e *model.Alert) string {
	times := collect.If(e.N == 1, "once", format.Thousands(e.N)+" times")
	switch e.What {
	case model.Restarted:
		if e.N == 0 {
			return "was restarted, or another one took its place: no limit was forgotten"
		}
		return fmt.Sprintf("was restarted: %d of %d limits were forgotten, so that every key has its whole limit again", e.N, e.Of)
	case model.Emptied:
		return fmt.Sprintf("forgot at least %d of %d limits: their keys left before they expired, as after FLUSHALL", e.N, e.Of)
	case model.Erring:
		_, why := ErrorMeaning(e.Text)
		return fmt.Sprintf("answered %s %s: %s", safetext.Clean(e.Text), times, why)
	case model.Evicting:
		return fmt.Sprintf("evicted %s keys: they lose their counts and admit anew", format.Thousands(e.N))
	case model.NodeLost:
		return "lost a node: " + safetext.Clean(e.Text)
	case model.NodeBack:
		return "has its node " + safetext.Clean(e.Text) + " back"
	}
	return ""
}

// PaintSearch fills a screen without any key: it draws the result of the search for limiters
// and, during the first search of a large keyspace, its progress. If the server does not answer,
// it draws the whole error, which the header may have to cut.
func PaintSearch(c *widget.Canvas, r cell.Rect, b *model.Board) {
	text, remedy := Searching(b)
	if s := &b.Server; s.Link != model.Live && s.Err != "" {
		text, remedy = safetext.Clean(s.Err), ""
	}
	lines := slices.Concat(format.Wrap(text, max(r.W-4, 1)), format.Wrap(remedy, max(r.W-4, 1)))
	c.Lines(cell.Rect{X: r.X + 2, Y: r.Y + 1, W: r.W - 2, H: r.H - 1}, c.Look.Dim, lines...)
	w, far := &b.Sweep, SearchedText(&b.Sweep)
	x, y := r.X+2, r.Y+1+len(lines)
	if far == "" || y >= r.Y+r.H {
		return
	}
	const widest = 80
	width := max(min(r.W-4, widest)-safetext.Width(far)-1, 0)
	chart.Progress(&c.Buffer, x, y, width, float64(w.Scanned)/float64(w.Total), c.Look)
	c.Buffer.Text(x+width+1, y, r.X+r.W, far, c.Look.Dim)
}
