package keys

import (
	_ "embed" // of tips.txt
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

// tips say what the columns of the table are, by their titles, and the rows of the weighted bars, by the word that each begins with.
//
//go:embed tips.txt
var tips string

// tip returns what the line of tips says that begins so; "" where there is none.
func tip(of string) string { return format.Line(tips, of) }

// cellTip says what a cell of a row is made of.
func (t *table) cellTip(title string, k *model.Watched) string {
	if k.Reading.Err != "" {
		return t.s.Name(k.Reading.Key) + " " + safetext.Clean(k.Reading.Err) + "."
	}
	g, target := &k.Gauge, &k.Reading.Target
	limit := describe.Title(target.Algorithm) + ", " + session.LimitText(*target) + tip("from "+target.LimitFrom.String()) + "."
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
		v.c.Tip(v.screen.areas.bars, func(_, y int) string { return tip("bar " + labelAt(&v.c.Buffer, v.screen.areas.bars, y)) })
	}
}
