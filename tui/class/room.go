package class

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/safetext"
	"ratescope/tui/lab"
)

// Room is who is there, what the teacher shows and what was predicted. It is safe for
// concurrent use.
type Room struct {
	mu      sync.Mutex
	most    int
	members []*Member
	driving bool
	line    string // the moment that the teacher shows; "" before the first
	answers map[answer]bool
}

// answer is one student's prediction of one question.
type answer struct {
	question string
	who      *Member
}

// Member is one person's side of a room.
type Member struct {
	room    *Room
	name    string
	teaches bool
	send    func(tea.Msg)
}

func newRoom(most int) *Room { return &Room{most: most, answers: map[answer]bool{}} }

// Teacher returns the teacher's side of the room.
func (r *Room) Teacher() *Member { return &Member{room: r, teaches: true} }

// longestName is how many columns of a name are shown.
const longestName = 16

// enter takes a student in, under a name that no other one has.
func (r *Room) enter(name string, send func(tea.Msg)) (*Member, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.members) >= r.most {
		return nil, fmt.Errorf("the class is full, with %d in it: come back later", r.most)
	}
	name = cmp.Or(safetext.Clip(safetext.Clean(name), longestName, safetext.Ellipsis), "student")
	taken := func(n string) bool {
		return slices.ContainsFunc(r.members, func(m *Member) bool { return m.name == n })
	}
	own := name
	for i := 2; taken(own); i++ {
		own = fmt.Sprintf("%s %d", name, i)
	}
	m := &Member{room: r, name: own, send: send}
	r.members = append(r.members, m)
	if r.driving && r.line != "" {
		send(lab.FollowMsg{Line: r.line})
	}
	return m, nil
}

// leave takes a student out.
func (r *Room) leave(m *Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members = slices.DeleteFunc(r.members, func(o *Member) bool { return o == m })
	for a := range r.answers {
		if a.who == m {
			delete(r.answers, a)
		}
	}
}

// Teaches reports whether this is the teacher's side.
func (m *Member) Teaches() bool { return m.teaches }

// People returns the names of the students, in the order in which they came.
func (m *Member) People() []string {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	names := make([]string, len(m.room.members))
	for i, o := range m.room.members {
		names[i] = o.name
	}
	return names
}

// Driving reports whether the students' labs follow the teacher's.
func (m *Member) Driving() bool {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	return m.room.driving
}

// Drive lets the students' labs follow, or frees them. It is the teacher's alone.
func (m *Member) Drive(on bool) error {
	if !m.teaches {
		return errors.New("only the teacher drives the class")
	}
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	m.room.driving, m.room.line = on, ""
	if !on {
		m.room.tell(lab.FollowMsg{})
	}
	return nil
}

// Show sends the moment on the teacher's screen to the students, if it is another one than
// before.
func (m *Member) Show(line string) {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	if m.teaches && m.room.driving && line != m.room.line {
		m.room.line = line
		m.room.tell(lab.FollowMsg{Line: line})
	}
}

// tell sends every student a message. The room is locked.
func (r *Room) tell(msg tea.Msg) {
	for _, m := range r.members {
		m.send(msg)
	}
}

// Predict keeps what a student predicts of a question.
func (m *Member) Predict(question string, admitted bool) {
	if m.teaches {
		return
	}
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	m.room.answers[answer{question, m}] = admitted
}

// Predictions returns how many predict that a request is admitted, and that it is denied.
func (m *Member) Predictions(question string) (admitted, denied int) {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	for a, yes := range m.room.answers {
		switch {
		case a.question != question:
		case yes:
			admitted++
		default:
			denied++
		}
	}
	return admitted, denied
}
