package keys

import (
	"fmt"
	"strings"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/session"
	"ratescope/tui/timeline"
)

// titles say what the columns of the table are, by their titles.
var titles = map[string]string{
	"key":        "The name of the limiter's key. A click sorts by it.",
	"server":     "The server that the key is on; its guards hold for whatever is fired at the key.",
	"limiter":    "The algorithm: fixed, sliding (two weighted windows), log, stream, gcra, token or leaky bucket.",
	"library":    "The library whose layout the key has; told: a rule or a pattern names it; ~likely: nothing but its form.",
	"limit":      "How many requests are admitted in which time.",
	"used/limit": "What counts now against what the limit admits. A click sorts by their ratio.",
	"rate":       "Requests a second over the latest seconds, as far as the store records them.",
	"denied":     "Denied requests a second over the latest seconds; – where the store does not record them.",
	"next":       "How long until one request of cost 1 is admitted; of a key near its limit how much room there is.",
}

// cellTip says what a cell of a row is made of.
func (t *table) cellTip(title string, k *model.Watched) string {
	if k.Reading.Err != "" {
		return t.s.Name(k.Reading.Key) + " " + safetext.Clean(k.Reading.Err) + "."
	}
	g, target := &k.Gauge, &k.Reading.Target
	limit := describe.Title(target.Algorithm) + ", " + session.LimitText(*target) + limitFrom[target.LimitFrom] + "."
	switch title {
	case "used/limit":
		return t.usedTip(k)
	case "rate":
		text := model.Measure{Known: g.RateKnown, V: g.Rate}.Text(format.PerSecond) + " over the window of " + format.Length(target.Window) + "."
		if g.RecentKnown {
			text = format.PerSecond(g.Recent) + " over the latest seconds; " + text
		}
		text += " What is admitted; the order by rate counts what is denied, too, where that is known."
		if k := describe.KindOf(target.Algorithm); k == describe.Arrival || k == describe.Bucket {
			text += " At least: what leaks away between two readings is not seen."
		}
		return text
	case "denied":
		if !g.DeniedInW.Known {
			return "The store does not record what this limiter denies."
		}
		text := format.Plural(int(g.DeniedInW.N), "request") + " denied in the last " + format.Length(target.Window)
		if g.DeniedPerSec.Known {
			text += ", " + format.PerSecond(g.DeniedPerSec.V) + " in the latest seconds"
		}
		return text + "."
	case "next":
		return nextTip(g, 1)
	case "limiter", "limit":
		return limit
	case "library":
		return evidenceTip(target)
	}
	return t.s.Name(k.Reading.Key) + ": " + limit + " " + evidenceTip(target)
}

// usedTip writes down what the used count is the sum of.
func (t *table) usedTip(k *model.Watched) string {
	g, target := &k.Gauge, &k.Reading.Target
	if !g.Used.Known {
		return "What is used is not known."
	}
	of := ""
	if g.Remaining.Known {
		of = fmt.Sprintf(" of %s, %.0f %%", format.Short(model.Capacity(*target)), 100*g.Utilization)
	}
	used := format.Short(g.Used.N)
	switch describe.KindOf(target.Algorithm) {
	case describe.Weighted:
		if g.Previous.Known {
			return fmt.Sprintf("%s previous × %s + %s current = %s%s. The share of the previous window shrinks as time passes.",
				format.Short(g.Previous.N), model.SumOf(g, target.Convention.Rounding).Weight, format.Short(g.Current.N), used, of)
		}
	case describe.Log:
		return fmt.Sprintf("%s%s, in the last %s, counted one by one.", format.Plural(int(g.Used.N), "request"), of, format.Length(target.Window))
	case describe.Window:
		return fmt.Sprintf("%s since the window began%s; it ends in %s.", format.Plural(int(g.Used.N), "request"), of,
			format.Wait(g.End.Sub(t.s.Shown.At())))
	case describe.Arrival:
		return fmt.Sprintf("The next arrival time is %s ahead of now: as much as %s%s.", format.Span(max(0, g.TAT.Sub(t.s.Shown.At()))),
			format.Plural(int(g.Used.N), "request"), of)
	case describe.Bucket:
		if target.Algorithm == limiter.LeakyBucket {
			return fmt.Sprintf("The level is %s%s; it drains evenly.", used, of)
		}
		return fmt.Sprintf("%s tokens are taken%s; they refill evenly.", used, of)
	}
	return used + " used" + of + "."
}

// nextTip says when a request of a cost is admitted, by a gauge whose Next is of that cost.
func nextTip(g *model.Gauge, cost int64) string {
	request := "request of cost " + format.Thousands(cost)
	switch {
	case !g.NextKnown:
		return "Without a limit nothing says when the next request is admitted."
	case g.Next == limiter.Never:
		return "One " + request + " is never admitted: the key does not expire, or the limit is smaller."
	case g.Next > 0:
		return "One " + request + " is admitted in " + format.Wait(g.Next) + ", if nothing else comes."
	}
	return fmt.Sprintf("One %s is admitted now; there is room for %s.", request, g.Remaining.Short())
}

// limitFrom says where the limit was read.
var limitFrom = map[model.LimitFrom]string{
	model.LimitOfRule: ", by a rule or a flag", model.LimitOfKey: ", read in the key", model.LimitOfName: ", read in the key's name",
	model.LimitOfSibling: ", read in a sibling key", model.LimitInferred: ", inferred from what was seen",
}

// evidenceTip says what says that the key is a limiter.
func evidenceTip(t *model.Target) string {
	switch {
	case t.Evidence == model.Likely:
		return "Likely a limiter: value and behaviour fit, the name does not say which."
	case t.Evidence == model.Known && t.Library != "":
		return "Known: name, type, value and expiry agree with the layout of " + safetext.Clean(t.Library) + "."
	case t.Library != "":
		return "Told by a rule or a pattern; the layout is that of " + safetext.Clean(t.Library) + "."
	}
	return "Told: a rule or a pattern names it; the form of its value decides the algorithm."
}

// groupTip says what the row of a group adds up.
func (t *table) groupTip(g *group) string {
	text := fmt.Sprintf("%s begin with %s: %d denied, %d near.", format.Plural(g.keys, "key"), g.path, g.denied, g.near)
	if g.worst != nil {
		text += fmt.Sprintf(" The fill is that of the nearest to its limit, %s.", t.s.Name(g.worst.Reading.Key))
	}
	return text + " Rates are sums."
}

// labels say what the rows of the weighted bars are, by the word that each begins with.
var labels = map[string]string{
	"previous": "The count of the clock-aligned window before this one, times the share of it that the sliding window still covers. " +
		"The rest counts no more.",
	"current":  "The count of the clock-aligned window that is running: it counts whole.",
	"estimate": "Previous times its weight plus current: what a sliding window counter goes by.",
	"counts":   "The requests of the last window, counted one by one against the limit.",
	"oldest":   "The entries of the log that leave the window next, and when.",
	"soon":     "The entries that leave within a quarter of the window.",
	"window":   "How much of the present window is over.",
	"exact":    "The requests of the last window counted one by one, where the store keeps them.",
	"TAT":      "The theoretical arrival time: how far the requests so far are ahead of an even pace.",
	"tokens":   "Tokens in the bucket: a request takes one, and they refill evenly.",
	"level":    "Water in the bucket: a request adds a drop, and it drains evenly.",
	"used":     "What counts now against the limit.",
	"room":     "What these rows add up to: how many requests are admitted now, when the next one is, and when the key is as new.",
	"denied":   "Notes: what was denied in the window, when the key expires, its type.",
}

// parts are what of the past makes a row of the bars.
var parts = map[string]timeline.Part{
	"previous": timeline.PreviousPart, "current": timeline.CurrentPart, "estimate": timeline.CountedPart, "exact": timeline.CountedPart,
}

// labelAt returns the word that the row at y of a pane begins with, as it was painted last.
func labelAt(b *cell.Buffer, r cell.Rect, y int) string {
	var word strings.Builder
	for x := r.X; x < r.X+r.W; x++ {
		c := b.At(x, y).R
		if letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'; letter {
			word.WriteRune(c)
		} else if word.Len() > 0 {
			break
		}
	}
	return word.String()
}

// partAt returns what of the past makes the figure at a cell.
func (d *Screen) partAt(x, y int) timeline.Part {
	if !d.areas.bars.Holds(x, y) {
		return timeline.NoPart
	}
	return parts[labelAt(&d.s.Shell.Canvas.Buffer, d.areas.bars, y)]
}

// paintTips lets the timeline and the bars say what they show.
func (v view) paintTips() {
	v.c.Tip(v.screen.areas.timeline, func(x, y int) string {
		if !v.s.Shown.Time.Holds(x, y) {
			return ""
		}
		return v.s.Shown.Time.Describe(x, v.s.Selection.Current())
	})
	if !v.screen.what.other.On {
		v.c.Tip(v.screen.areas.bars, func(_, y int) string { return labels[labelAt(&v.c.Buffer, v.screen.areas.bars, y)] })
	}
}
