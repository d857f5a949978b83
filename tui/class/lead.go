package class

import (
	"errors"
	"slices"

	"ratescope/tui/lab"
)

// student returns the student of a number. The room is locked.
func (r *Room) student(number int) (*Member, error) {
	i := slices.IndexFunc(r.members, func(o *Member) bool { return o.number == number })
	if i < 0 {
		return nil, errors.New("this student has left")
	}
	return r.members[i], nil
}

// lead changes the room, which is locked then, for the teacher alone.
func (m *Member) lead(change func(r *Room) error) error {
	if !m.teaches {
		return errors.New("only the teacher leads the class")
	}
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	return change(m.room)
}

// Drive lets the students' labs follow, or frees them. It is the teacher's alone.
func (m *Member) Drive(on bool) error {
	return m.lead(func(r *Room) error {
		r.driving, r.shown = on, lab.FollowMsg{}
		for _, o := range r.members {
			if o.follows = on; !on {
				o.send(lab.FollowMsg{})
			}
		}
		return nil
	})
}

// Call lets the lab of one student follow, or frees it.
func (m *Member) Call(number int, on bool) error {
	return m.lead(func(r *Room) error {
		o, err := r.student(number)
		if err != nil {
			return err
		}
		switch followed := slices.ContainsFunc(r.members, func(o *Member) bool { return o.follows }); {
		case !on:
			o.send(lab.FollowMsg{})
		case followed && r.shown.Line != "":
			o.send(r.shown)
		default: // what was shown is old: the teacher's lab shows it again
			r.shown = lab.FollowMsg{}
		}
		o.follows = on
		return nil
	})
}

// Lock keeps others out and holds the keys of the students who follow, or ends both. Those whose
// keys are held from now on are shown the teacher's moment again, wherever they went.
func (m *Member) Lock(on bool) error {
	return m.lead(func(r *Room) error {
		r.locked = on
		for _, o := range r.members {
			if o.follows && r.shown.Line != "" {
				o.send(r.shown)
			}
		}
		return nil
	})
}

// Readmit lets a student who was removed come back.
func (m *Member) Readmit(number int) error {
	return m.lead(func(r *Room) error {
		r.removed = slices.DeleteFunc(r.removed, func(o *Member) bool { return o.number == number })
		return nil
	})
}

// Remove ends the visit of a student, who cannot come back.
func (m *Member) Remove(number int) error {
	return m.lead(func(r *Room) error {
		o, err := r.student(number)
		if err != nil {
			return err
		}
		o.removed = true
		o.who.alone = r.seen.alone(o.who)
		r.removed = append(r.removed, o)
		o.end()
		return nil
	})
}
