package class_test

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ratescope/tui/class"
	"ratescope/tui/lab"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// desk is the teacher's lab.
type desk struct {
	t   *testing.T
	m   tea.Model
	now time.Time
}

func newDesk(t *testing.T, h *held, w, height int) *desk {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	m, err := lab.New(ctx, lab.Options{Class: h.Room.Teacher()})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, m: m, now: time.Unix(2_000_000_000, 0)}
	d.m, _ = d.m.Update(tea.WindowSizeMsg{Width: w, Height: height})
	return d
}

func (d *desk) press(keys string) {
	for key := range strings.FieldsSeq(keys) {
		d.m, _ = d.m.Update(tuitest.Key(key))
	}
}

// frame returns what is on screen a second of the teacher's clock later.
func (d *desk) frame() string {
	d.now = d.now.Add(time.Second)
	d.m, _ = d.m.Update(shell.TickAt(d.now))
	return d.m.View().Content
}

// sees waits until all these texts are on screen.
func (d *desk) sees(texts ...string) {
	d.t.Helper()
	frame := ""
	defer func() {
		if d.t.Failed() {
			d.t.Log("\n" + frame)
		}
	}()
	waits(d.t, "the teacher sees "+strings.Join(texts, ", "), func() bool {
		frame = ansi.Strip(d.frame())
		for _, text := range texts {
			if !strings.Contains(frame, text) {
				return false
			}
		}
		return true
	})
}

// TestTheTeacherSeesTheClass: who is there and where, what each reached and predicted in a
// lesson; one student or all are called and freed, the class is locked, one is removed.
func TestTheTeacherSeesTheClass(t *testing.T) {
	t.Parallel()
	h := hold(t, class.Options{})
	teacher := newDesk(t, h, 140, 42)
	teacher.press("S")
	teacher.sees("No student is in class yet", h.fingerprint())

	ada := h.student(t, "ada")
	ada.sees("ratescope lab")
	eve := h.student(t, "eve\x1b[31m\u202e\nx")
	eve.sees("ratescope lab")
	teacher.sees("2 there, 0 with you · open", "ada", "eve", "free", h.Invitation()+"  "+h.fingerprint())
	if frame := ansi.Strip(teacher.frame()); strings.ContainsAny(frame, "\x1b\u202e") {
		t.Errorf("a name reaches the teacher's terminal as it is:\n%q", frame)
	}

	ada.press("H") // shows how the goal of the first lesson is reached
	teacher.sees("1 reached, 1 not yet")

	teacher.press("F C")
	teacher.frame()
	ada.sees("with the teacher")
	eve.sees("with the teacher")
	teacher.press("S")
	teacher.sees("2 there, 2 with you")
	teacher.press("up enter") // frees ada alone
	ada.sees("The teacher frees you")
	teacher.sees("2 there, 1 with you")

	teacher.press("C J space") // asks before the request is fired
	teacher.frame()
	eve.sees("What will become of it at")
	eve.press("a")
	teacher.sees("class 1 of 1", "admitted 1", "denied 0")
	teacher.press("a")
	teacher.sees("Of the class 1 of 1.")
	teacher.press("S")
	teacher.sees("1 right, 0 wrong", "1 of 1")

	teacher.press("enter") // calls ada back
	teacher.press("C")
	teacher.frame()
	ada.sees("with the teacher")

	teacher.press("S o")
	late, err := h.dial("late")
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if text := refusal(t, late); !strings.Contains(text, "the class is locked") {
		t.Errorf("one who comes to a locked class is told %q", text)
	}
	ada.sees("You are with the teacher")
	ada.sees("class: ada, with the teacher")

	teacher.press("down delete")
	teacher.sees("remove eve")
	teacher.press("enter")
	eve.sees("The teacher has ended your visit.")
	if err := eve.session.Wait(); err != nil {
		t.Errorf("the visit ends: %v", err)
	}
	teacher.sees("1 there, 1 with you · locked", "ada", "removed")
	teacher.press("o")
	again, err := h.dial("eve\x1b[31m\u202e\nx")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if text := refusal(t, again); !strings.Contains(text, "the teacher has removed you from this class") {
		t.Errorf("one who was removed and comes back is told %q", text)
	}
	teacher.press("up up down enter")
	h.student(t, "eve\x1b[31m\u202e\nx").sees("ratescope lab")
	teacher.sees("2 there")
	teacher.press("q")
	teacher.sees("In class: 2 students.")
	teacher.press("esc")
	teacher.sees("2 there")
}

// TestOnlyTheTeacherLeads: a student's side of the room neither drives, calls, locks nor
// removes.
func TestOnlyTheTeacherLeads(t *testing.T) {
	t.Parallel()
	h := hold(t, class.Options{})
	h.student(t, "ada").sees("ratescope lab")
	teacher := h.Room.Teacher()
	student := &class.Member{}
	one := teacher.Now().Students[0].Number
	student.Call(0, true)
	student.Call(one, true)
	student.Lock(true)
	student.Remove(one)
	student.Play(true)
	teacher.Call(one+1, true)
	teacher.Remove(one + 1)
	if now := teacher.Now(); now.Driven || now.Locked || len(now.Students) != 1 || now.Students[0].Follows || len(now.Removed) > 0 ||
		teacher.Game().On {
		t.Errorf("a student leads the class, or one who is not there is led: %+v", now)
	}
	teacher.Remove(one)
	student.Readmit(one)
	if len(teacher.Now().Removed) != 1 {
		t.Error("a student readmits")
	}
}
