package cmd

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ratescope/model"
)

// TestConfirmUndo: to take an action back at a server of production the key has to be named.
func TestConfirmUndo(t *testing.T) {
	why := []string{"60 clients are connected"}
	for name, c := range map[string]struct {
		why     []string
		o       orderOptions
		answers []string // nil: there is no terminal
		cause   string   // "" it goes on
	}{
		"no production":         {},
		"another key":           {o: orderOptions{Key: "bob"}, cause: "not the name"},
		"script":                {why: why, cause: "give --key"},
		"script without reason": {why: why, o: orderOptions{Key: "alice"}, cause: "give --reason"},
		"script with both":      {why: why, o: orderOptions{Key: "alice", Reason: "drill"}},
		"terminal":              {why: why, answers: []string{"alice", "drill"}},
		"terminal, another key": {why: why, answers: []string{"bob"}, cause: "not the name"},
	} {
		if c.answers != nil {
			c.o.Ask = func(string) (string, error) {
				text := c.answers[0]
				c.answers = c.answers[1:]
				return text, nil
			}
		}
		err := c.o.confirmUndo(c.why, "rl:alice")
		if (c.cause == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), c.cause) || !strings.HasPrefix(err.Error(), "nothing is taken back")) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.cause)
		}
		if err == nil && len(c.why) > 0 && c.o.Reason != "drill" {
			t.Errorf("%s: the reason is %q", name, c.o.Reason)
		}
	}
}

// TestConfirm: a server of production asks a person for the name and the reason, and refuses a
// script without a reason, whatever makes it one.
func TestConfirm(t *testing.T) {
	replicas, clients := []string{"it has replicas (2)"}, []string{"60 clients are connected"}
	for name, c := range map[string]struct {
		of      []string
		reason  string
		answers []string // nil: there is no terminal
		late    bool
		cause   string // "" it goes on
	}{
		"no production":        {},
		"script":               {of: replicas, cause: "give --reason"},
		"script with a reason": {of: replicas, reason: "drill"},
		"script, many clients": {of: clients, cause: "give --reason"},
		"terminal":             {of: replicas, answers: []string{"alice", "drill"}},
		"the whole name":       {of: replicas, answers: []string{"rl:alice", "drill"}},
		"many clients":         {of: clients, answers: []string{"bob"}, cause: "not the name"},
		"reason as a flag":     {of: replicas, reason: "drill", answers: []string{"alice"}},
		"another name":         {of: replicas, reason: "drill", answers: []string{"bob"}, cause: "not the name of rl:alice"},
		"no reason":            {of: replicas, answers: []string{"alice", ""}, cause: "no reason"},
		"nothing typed":        {of: replicas, answers: []string{}, cause: "no name was typed"},
		"too late":             {of: replicas, answers: []string{"alice", "drill"}, late: true, cause: "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			o := orderOptions{Reason: c.reason}
			if c.answers != nil {
				o.Ask = func(string) (string, error) {
					if len(c.answers) == 0 {
						return "", errors.New("EOF")
					}
					text := c.answers[0]
					c.answers = c.answers[1:]
					return text, nil
				}
			}
			s := model.Order{Key: "rl:alice", Ticket: &model.Ticket{Issued: time.Now()}}
			if c.late {
				s.Ticket.Issued = s.Ticket.Issued.Add(-time.Hour)
			}
			err := o.confirm(c.of, "redis://h", &s, "nothing is fired")
			if c.cause == "" {
				if err != nil || len(c.of) > 0 && s.Reason != "drill" {
					t.Errorf("%v, reason %q", err, s.Reason)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.cause) || !strings.HasPrefix(err.Error(), "nothing is fired") {
				t.Errorf("%v, want it to say %q", err, c.cause)
			}
		})
	}
}
