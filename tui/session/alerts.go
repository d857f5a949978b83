package session

import (
	"fmt"

	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
)

// Subject returns the key or the server that an alert is about.
func Subject(e *model.Alert, name func(key string) string) string {
	moved := e.What == model.Appeared || e.What == model.Left
	switch pressed := e.What == model.BecameThrottled || e.What == model.BecameClose || e.What == model.NoLongerThrottled; {
	case (moved || pressed) && e.Key == "" && e.N > 0:
		return format.Thousands(e.N) + " keys"
	case e.Key != "" || moved:
		return name(e.Key)
	}
	return "the server"
}

// AlertText says what an alert is about, without its subject.
func AlertText(e *model.Alert) string {
	many := e.Key == "" && e.N > 0
	switch e.What {
	case model.BecameThrottled:
		if many {
			return "are throttled"
		}
		return "is throttled"
	case model.NoLongerThrottled:
		if many {
			return "are free again"
		}
		text := "is free again after " + format.Span(e.For)
		if e.For <= 0 { // seen throttled a single time
			text = "is free again after a moment"
		}
		if e.N > 0 {
			text += fmt.Sprintf(", %s denied", format.Short(e.N))
		}
		return text
	case model.BecameClose:
		if many {
			return "are near their limits"
		}
		return "is near its limit"
	case model.BecameUnreadable:
		return safetext.Clean(e.Text)
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
	return "is back after " + format.Span(e.For)
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
	times := format.Thousands(e.N) + " times"
	if e.N == 1 {
		times = "once"
	}
	switch e.What {
	case model.Restarted:
		if e.N == 0 {
			return "was restarted, or another one took its place: no limit was forgotten"
		}
		return fmt.Sprintf("was restarted: %d of %d limits were forgotten, so that every key has a full budget", e.N, e.Of)
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
