package class

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui/lab"
)

// TestWhoIsKnownAgain: by the key where there are keys, else by the name, and by an address that
// no other student shares.
func TestWhoIsKnownAgain(t *testing.T) {
	seen := addresses{}
	for _, p := range []person{{name: "ada", address: "192.0.2.1"}, {name: "eve", address: "192.0.2.2"}, {name: "bob", address: "192.0.2.2"}} {
		seen.add(p)
	}
	for _, c := range []struct {
		name           string
		removed, again person
		known          bool
	}{
		{"same name", person{name: "ada"}, person{name: "ada"}, true},
		{"another name of this machine", person{name: "ada"}, person{name: "bob"}, false},
		{"another name from an address of one student", person{name: "ada", address: "192.0.2.1"}, person{name: "eva", address: "192.0.2.1"}, true},
		{"another name from an address of several", person{name: "eve", address: "192.0.2.2"}, person{name: "bob", address: "192.0.2.2"}, false},
		{"same name from another address", person{name: "eve", address: "192.0.2.2"}, person{name: "eve", address: "192.0.2.9"}, true},
		{"same key under another name", person{key: "SHA256:a", name: "ada"}, person{key: "SHA256:a", name: "eve"}, true},
		{"another key under the same name", person{key: "SHA256:a", name: "ada"}, person{key: "SHA256:b", name: "ada"}, false},
	} {
		c.removed.alone = seen.alone(c.removed)
		if c.removed.is(c.again) != c.known {
			t.Errorf("%s: known again is %v", c.name, !c.known)
		}
	}
}

// TestPredictionsAreIn: a question waits for the students who follow, whatever others answer; where none follows for
// all.
func TestPredictionsAreIn(t *testing.T) {
	r := newRoom(3)
	teacher, q := r.Teacher(), lab.Question{ID: "q"}
	var students []*Member
	for _, name := range []string{"ann", "bob", "cid"} {
		m, err := r.enter(person{name: name}, func(tea.Msg) {}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		students = append(students, m)
	}
	waits := func(want int) {
		t.Helper()
		if got := teacher.Tally(q.ID).Waits; got != want {
			t.Errorf("it waits for %d, want %d", got, want)
		}
	}
	waits(3)
	teacher.Call(students[0].number, true)
	teacher.Call(students[1].number, true)
	waits(2)
	students[2].Predict(q, lab.Prediction{})
	students[0].Predict(q, lab.Prediction{Admitted: true})
	waits(1)
	students[1].Predict(q, lab.Prediction{})
	waits(0)
	r.leave(students[1])
	if got := teacher.Tally(q.ID); got.Admitted != 1 || got.Denied != 2 {
		t.Errorf("a student who leaves takes the prediction along: %+v", got)
	}
}
