package model_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ratescope/model"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestReadAnswer(t *testing.T) {
	known := func(d time.Duration) model.Wait { return model.Wait{Known: true, D: d} }
	for name, c := range map[string]struct {
		status  int
		header  map[string]string
		outcome model.Outcome
		want    model.Answer
	}{
		"ok":                    {200, nil, model.Admitted, model.Answer{}},
		"created":               {201, nil, model.Admitted, model.Answer{}},
		"redirect":              {302, nil, model.Failed, model.Answer{}},
		"not found":             {404, nil, model.Failed, model.Answer{}},
		"seconds":               {429, map[string]string{"Retry-After": "10"}, model.Denied, model.Answer{RetryAfter: known(10 * time.Second)}},
		"none":                  {429, nil, model.Denied, model.Answer{}},
		"busy":                  {503, nil, model.Failed, model.Answer{}},
		"busy for a while":      {503, map[string]string{"Retry-After": "0"}, model.Denied, model.Answer{RetryAfter: known(0)}},
		"a date":                {429, map[string]string{"Retry-After": noon.Add(30 * time.Second).Format(http.TimeFormat)}, model.Denied, model.Answer{RetryAfter: known(30 * time.Second)}},
		"a date of its clock":   {429, map[string]string{"Retry-After": noon.Add(time.Hour).Format(http.TimeFormat), "Date": noon.Add(time.Hour - 5*time.Second).Format(http.TimeFormat)}, model.Denied, model.Answer{RetryAfter: known(5 * time.Second)}},
		"a date that is over":   {429, map[string]string{"Retry-After": noon.Add(-time.Hour).Format(http.TimeFormat)}, model.Denied, model.Answer{RetryAfter: known(0)}},
		"garbage":               {429, map[string]string{"Retry-After": "soon", "RateLimit-Remaining": "-3", "RateLimit-Reset": "NaN"}, model.Denied, model.Answer{}},
		"negative":              {503, map[string]string{"Retry-After": "-1"}, model.Failed, model.Answer{}},
		"huge":                  {429, map[string]string{"Retry-After": "1e300"}, model.Denied, model.Answer{}},
		"the draft's field":     {200, map[string]string{"RateLimit": `"default";r=7;t=30`}, model.Admitted, model.Answer{Remaining: model.Count{Known: true, N: 7}, Reset: known(30 * time.Second)}},
		"of several the least":  {200, map[string]string{"RateLimit": `"minute";r=7;t=30, "day";r=2;t=900`}, model.Admitted, model.Answer{Remaining: model.Count{Known: true, N: 2}, Reset: known(900 * time.Second)}},
		"three fields":          {200, map[string]string{"RateLimit-Remaining": "4", "RateLimit-Reset": "12"}, model.Admitted, model.Answer{Remaining: model.Count{Known: true, N: 4}, Reset: known(12 * time.Second)}},
		"a reset of the epoch":  {200, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795176060"}, model.Admitted, model.Answer{Remaining: model.Count{Known: true, N: 0}, Reset: known(60 * time.Second), XReset: true}},
		"a reset with decimals": {200, map[string]string{"RateLimit-Reset": "1.5"}, model.Admitted, model.Answer{Reset: known(1500 * time.Millisecond)}},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		c.want.Status = c.status
		if got := model.ReadAnswer(c.status, h, noon); got != c.want || got.Outcome() != c.outcome {
			t.Errorf("%s: %+v (%v), want %+v (%v)", name, got, got.Outcome(), c.want, c.outcome)
		}
	}
}

func TestFindings(t *testing.T) {
	at := func(after time.Duration, status int, header ...string) model.Fired {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		sent := noon.Add(after)
		a := model.ReadAnswer(status, h, sent)
		return model.Fired{Sent: sent, Received: sent.Add(10 * time.Millisecond), Answer: &a, Outcome: a.Outcome()}
	}
	for name, c := range map[string]struct {
		list []model.Fired
		want []string
	}{
		"nothing": {nil, nil},
		"right": {[]model.Fired{
			at(0, 200, "RateLimit-Remaining", "0"), at(time.Second, 429, "Retry-After", "10"), at(11200*time.Millisecond, 200),
		}, nil},
		"rounded up": {[]model.Fired{at(0, 429, "Retry-After", "10"), at(9500*time.Millisecond, 200)}, nil},
		"too long": {[]model.Fired{
			at(0, 429, "Retry-After", "10"), at(time.Second, 429, "Retry-After", "9"), at(2*time.Second, 200),
		}, []string{"come again after 10s, and a request 1.99s later was admitted"}},
		"too short": {[]model.Fired{
			at(0, 429, "Retry-After", "1"), at(3*time.Second, 429, "Retry-After", "1"),
		}, []string{"after 1s, and a request 2.99s later was denied still"}},
		"an own request took the room": {[]model.Fired{
			at(0, 429, "Retry-After", "1"), at(2*time.Second, 200), at(3*time.Second, 429, "Retry-After", "1"),
		}, nil},
		"no header": {[]model.Fired{at(0, 429)}, []string{"has no Retry-After"}},
		"a reset instead": {[]model.Fired{
			at(0, 429, "RateLimit-Reset", "30"), at(2*time.Second, 200),
		}, []string{"after 30s, and a request 1.99s later was admitted", "has no Retry-After"}},
		"remaining": {[]model.Fired{
			at(0, 200, "RateLimit-Remaining", "3"), at(time.Second, 429, "Retry-After", "5"),
		}, []string{"3 remain, and the next request, 990ms later, was denied"}},
		"headers that disagree":  {[]model.Fired{at(0, 429, "Retry-After", "10", "RateLimit", `"a";r=0;t=2`)}, []string{"Retry-After 10s and a RateLimit reset of 2s"}},
		"as new after the wait":  {[]model.Fired{at(0, 429, "Retry-After", "3", "X-RateLimit-Reset", "15")}, nil},
		"as new before the wait": {[]model.Fired{at(0, 429, "Retry-After", "10", "X-RateLimit-Reset", "2")}, []string{"Retry-After 10s and a RateLimit reset of 2s"}},
		"the draft's reset":      {[]model.Fired{at(0, 429, "Retry-After", "3", "RateLimit-Reset", "15")}, []string{"Retry-After 3s and a RateLimit reset of 15s"}},
		"no answer":              {[]model.Fired{at(0, 429, "Retry-After", "10"), {Outcome: model.Unanswered}}, nil},
	} {
		got := model.Findings(c.list)
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
			continue
		}
		for i, f := range got {
			if !strings.Contains(f.What, c.want[i]) {
				t.Errorf("%s: %q, want it to say %q", name, f.What, c.want[i])
			}
		}
	}
}

func TestCompareNext(t *testing.T) {
	said := model.Wait{Known: true, D: 10 * time.Second}
	for next, want := range map[time.Duration]bool{2 * time.Second: true, 9200 * time.Millisecond: false, 10 * time.Second: false, 12 * time.Second: true} {
		if f, ok := model.CompareNext(said, next); ok != want {
			t.Errorf("10s against %v: %+v, %v", next, f, ok)
		}
	}
	if _, ok := model.CompareNext(model.Wait{}, time.Hour); ok {
		t.Error("a wait that is not known differs")
	}
}
