package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ratescope/model"
)

// TestConfirm: a server of production asks a person for the name and the reason, and refuses a
// script without a reason, unless its clients alone make it one.
func TestConfirm(t *testing.T) {
	replicas := concerns{[]string{"it has replicas (2)"}, true}
	for name, c := range map[string]struct {
		of      concerns
		reason  string
		answers []string // nil: there is no terminal
		late    bool
		cause   string // "" it goes on
	}{
		"no production":        {},
		"script":               {of: replicas, cause: "give --reason"},
		"script with a reason": {of: replicas, reason: "drill"},
		"script, many clients": {of: concerns{[]string{"60 clients are connected"}, false}},
		"terminal":             {of: replicas, answers: []string{"alice", "drill"}},
		"the whole name":       {of: replicas, answers: []string{"rl:alice", "drill"}},
		"many clients":         {of: concerns{[]string{"60 clients are connected"}, false}, answers: []string{"bob"}, cause: "not the name"},
		"reason as a flag":     {of: replicas, reason: "drill", answers: []string{"alice"}},
		"another name":         {of: replicas, reason: "drill", answers: []string{"bob"}, cause: "not the name of rl:alice"},
		"no reason":            {of: replicas, answers: []string{"alice", ""}, cause: "no reason"},
		"nothing typed":        {of: replicas, answers: []string{}, cause: "no name was typed"},
		"too late":             {of: replicas, answers: []string{"alice", "drill"}, late: true, cause: "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			o := FireOptions{Reason: c.reason}
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
				if err != nil || len(c.of.why) > 0 && c.of.sure && s.Reason != "drill" {
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
