package record

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// fired is a request that was fired while the recording went on. Lengths of time are
// nanoseconds.
type fired struct {
	Order      int64           `json:"order,omitempty"`
	Key        text            `json:"key"`
	Cost       int64           `json:"cost"`
	At         limiter.Instant `json:"at"`
	Outcome    uint8           `json:"outcome,omitempty"` // 0 admitted, 1 denied, 2 error, 3 unknown
	Latency    int64           `json:"latency,omitempty"`
	Err        text            `json:"err,omitzero"`
	Audit      text            `json:"audit,omitzero"`
	Limit      int64           `json:"limit,omitempty"`
	Window     int64           `json:"window,omitempty"`
	Burst      int64           `json:"burst,omitempty"`
	Used       int64           `json:"used,omitempty"`
	Remaining  int64           `json:"remaining,omitempty"`
	RetryAfter int64           `json:"retry_after,omitempty"`
	ResetAfter int64           `json:"reset_after,omitempty"`
	Previous   int64           `json:"previous,omitempty"`
	Current    int64           `json:"current,omitempty"`
	Weight     real            `json:"weight,omitempty"`
	Estimate   real            `json:"estimate,omitempty"`
	Start      limiter.Instant `json:"start,omitempty"`
	End        limiter.Instant `json:"end,omitempty"`
	Answer     *answer         `json:"answer,omitempty"` // of an application, where one was fired at
}

// answer is what an application said. Lengths of time are nanoseconds.
type answer struct {
	Status     int    `json:"status,omitempty"`
	RetryAfter *int64 `json:"retry_after,omitempty"`
	Reset      *int64 `json:"reset,omitempty"`
	Remaining  *int64 `json:"remaining,omitempty"`
	XReset     bool   `json:"x_reset,omitempty"`
}

func answerOf(a *model.Answer) *answer {
	if a == nil {
		return nil
	}
	return &answer{a.Status, known64(a.RetryAfter.Known, a.RetryAfter.D), known64(a.Reset.Known, a.Reset.D),
		known64(a.Remaining.Known, a.Remaining.N), a.XReset}
}

// known64 returns a number, or nil where it is not known.
func known64[T ~int64](known bool, v T) *int64 {
	if !known {
		return nil
	}
	return new(int64(v))
}

func (a *answer) model() *model.Answer {
	if a == nil {
		return nil
	}
	out := &model.Answer{Status: a.Status, XReset: a.XReset, RetryAfter: wait(a.RetryAfter), Reset: wait(a.Reset)}
	if a.Remaining != nil {
		out.Remaining = model.Count{Known: true, N: *a.Remaining}
	}
	return out
}

func wait(d *int64) model.Wait {
	if d == nil {
		return model.Wait{}
	}
	return model.Wait{Known: true, D: time.Duration(*d)}
}

func firedOf(list []model.Fired) []fired {
	var out []fired
	for _, f := range list {
		d := &f.Decision
		out = append(out, fired{
			Order: f.Order, Key: text(f.Key), Cost: f.Cost, At: f.At, Outcome: uint8(f.Outcome), Latency: int64(f.Latency), Err: text(f.Err),
			Audit: text(f.Audit),
			Limit: d.Limit.Count, Window: int64(d.Limit.Window), Burst: d.Limit.Burst, Used: d.Used, Remaining: d.Remaining,
			RetryAfter: int64(d.RetryAfter), ResetAfter: int64(d.ResetAfter), Previous: d.Previous, Current: d.Current,
			Weight: real(d.Weight), Estimate: real(d.Estimate), Start: d.Start, End: d.End, Answer: answerOf(f.Answer),
		})
	}
	return out
}

func modelOf(list []fired) []model.Fired {
	var out []model.Fired
	for _, f := range list[:min(len(list), maxFired)] {
		m := model.Fired{
			Order: f.Order, Key: string(f.Key), Cost: f.Cost, At: f.At, Outcome: min(model.Outcome(f.Outcome), model.Unanswered),
			Latency: time.Duration(f.Latency), Err: string(f.Err), Audit: string(f.Audit), Answer: f.Answer.model(),
		}
		if m.Outcome == model.Admitted || m.Outcome == model.Denied {
			m.Decision = limiter.Decision{
				Allowed: m.Outcome == model.Admitted, At: f.At, Cost: f.Cost,
				Limit: limiter.Limit{Count: f.Limit, Window: time.Duration(f.Window), Burst: f.Burst},
				Used:  f.Used, Remaining: f.Remaining, RetryAfter: time.Duration(f.RetryAfter), ResetAfter: time.Duration(f.ResetAfter),
				Previous: f.Previous, Current: f.Current, Weight: float64(f.Weight), Estimate: float64(f.Estimate), Start: f.Start, End: f.End,
			}
		}
		out = append(out, m)
	}
	return out
}
