package report

import (
	"fmt"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// Peek is what would happen to one request now. Next of its Key is the wait of that request.
type Peek struct {
	Key
	Cost    int64 `json:"cost"`
	Allowed *bool `json:"allowed"` // null when the limit is not known

	asNew  time.Duration
	atOnce int64 // what fits at once; 0 not known
	stuck  bool  // nothing that was counted is ever dropped
	sum    string
}

// PeekOf works r out at the given instant, for a request of a cost of 1 or more.
func PeekOf(r *model.Reading, at limiter.Instant, cost int64, o Options) Peek {
	g := r.Gauge(at)
	p := Peek{Key: KeyOf(r, at, o), Cost: cost, asNew: g.Reset, stuck: g.Stuck}
	if f := r.Forecast(at, 0, cost); cost > 1 && g.NextKnown && f.Known && r.Target.Limit.Count > 0 {
		p.Next = new(Millis(f.Next))
	}
	if g.Previous.Known && g.Current.Known {
		sum := model.SumOf(&g, r.Target.Convention.Rounding)
		p.sum = fmt.Sprintf("%d × %s = %s", g.Previous.N, sum.Weight, sum.Product)
		if !sum.Whole() {
			p.sum += " → " + sum.Rounded
		}
		p.sum += fmt.Sprintf(" + %d = %s", g.Current.N, sum.Estimate)
	}
	if r.Target.LimitKnown {
		p.atOnce = model.Capacity(r.Target)
	}
	if p.Next != nil {
		p.Allowed = new(*p.Next == 0)
	}
	return p
}

// String returns p in a few lines for people, the verdict first.
func (p Peek) String() string {
	verdict, never := p.verdict(), "never"
	if p.Cost > 1 {
		verdict = strings.Replace(verdict, "a request would", fmt.Sprintf("a request that costs %d would", p.Cost), 1)
	}
	if p.stuck {
		never = "never: no expiry"
	}
	var b strings.Builder
	_ = pages().ExecuteTemplate(&b, "peek.txt", map[string]any{ // a Builder takes all
		"p": p, "verdict": verdict, "limit": p.limit(), "sum": p.sum,
		"next": Wait(p.Next, "now", never), "asNew": Wait(new(Millis(p.asNew)), "now", never), "notes": p.notes()})
	return b.String()
}

// usedOf says how much of what is used: where a burst differs from the limit it is the burst that denies.
func (p Peek) usedOf() string {
	if p.atOnce > 0 && p.atOnce != *p.Limit {
		return fmt.Sprintf("%s of %d at once", Number(p.Used), p.atOnce)
	}
	return fmt.Sprintf("%s of %d used", Number(p.Used), *p.Limit)
}

func (p Peek) verdict() string {
	switch {
	case p.Allowed == nil && p.Algorithm == nil:
		return "whether a request would be admitted is not known, because the algorithm is not"
	case p.Allowed == nil && p.Limit != nil && p.Window == nil:
		return "whether a request would be admitted is not known, because the window is not"
	case p.Allowed == nil && p.Limit == nil:
		return "whether a request would be admitted is not known, because the limit is not"
	case p.Allowed == nil:
		return "whether a request would be admitted is not known, because what is used is not"
	case *p.Limit == 0:
		return "a request would be admitted now, because nothing is limited: this key only counts"
	case *p.Allowed:
		return fmt.Sprintf("a request would be admitted now: %s", p.usedOf())
	case *p.Next < 0 && p.stuck:
		return fmt.Sprintf("a request would be denied, and no waiting helps: %s of %d used, and the counter has no expiry: set the one "+
			"that it should have with PEXPIRE, or delete it", Number(p.Used), *p.Limit)
	case *p.Next < 0:
		return fmt.Sprintf("a request would be denied, and no waiting helps: one costs more than the %d that fit at once", p.atOnce)
	}
	frees := "the next slot frees"
	if p.Cost > 1 {
		frees = "room for it frees"
	}
	return fmt.Sprintf("a request would be denied now: %s, %s in %s", p.usedOf(), frees, Wait(p.Next, "no time", "never"))
}

func (p Peek) limit() string {
	text, algorithm := Number(p.Limit), "algorithm unknown"
	if p.Limit != nil && *p.Limit == 0 {
		text = "none, counted"
	}
	if p.Window != nil {
		text += " in " + Each(p.Window)
	}
	if p.Limit != nil && *p.Limit > 0 && p.atOnce != *p.Limit {
		text += fmt.Sprintf(", %d at once", p.atOnce)
	}
	if p.Algorithm != nil {
		algorithm = *p.Algorithm
	}
	if p.Type == "none" {
		return text + ", " + algorithm + ", not on the server yet"
	}
	return text + ", " + algorithm + ", kept in a " + p.Type.Clean()
}
