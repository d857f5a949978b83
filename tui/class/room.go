package class

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/collect"
	engine "ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/tui/lab"
)

// Room is who is there, what the teacher shows and what was predicted. It is safe for
// concurrent use.
type Room struct {
	mu       sync.Mutex
	most     int
	members  []*Member
	removed  []*Member // who cannot come back
	seen     addresses // where students came from
	numbers  int       // given to students so far
	driving  bool
	locked   bool
	shown    lab.FollowMsg // what the teacher shows; without a line before the first
	asked    []*asked      // in the order in which they were answered first
	attempts map[int]*attempt
	door     lab.Door
	// Of attack and defend: students with odd numbers hand in limiters, and the others traffic that breaks them.
	playing  bool
	defences []lab.Defence // in the order in which they were handed in first
}

// asked is a question with what each student predicts.
type asked struct {
	lab.Question
	answers map[string]lab.Prediction // by the name of the student, who may have left and come back
}

// attempt is a lesson that students have opened, by whether they reached its goal.
type attempt struct {
	title string
	who   map[string]bool
}

// mostAsked is how many questions are kept: a student who is free can answer quizzes for ever.
const mostAsked = 200

// Member is one person's side of a room.
type Member struct {
	room    *Room
	who     person
	name    string
	teaches bool
	number  int
	send    func(tea.Msg)
	end     func()

	follows bool
	removed bool
	place   lab.Place
}

func newRoom(most int) *Room {
	return &Room{most: most, seen: addresses{}}
}

// Teacher returns the teacher's side of the room.
func (r *Room) Teacher() *Member { return &Member{room: r, teaches: true} }

// longestName is how many columns of a name are shown.
const longestName = 16

// enter takes a student in, under a name that no other one has. send hands the student's lab a
// message and does not wait; end ends the visit. Both are called while the room is locked.
func (r *Room) enter(who person, send func(tea.Msg), end func()) (*Member, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	who.name = cmp.Or(safetext.Clip(safetext.Clean(who.name), longestName, safetext.Ellipsis), "student")
	switch {
	case slices.ContainsFunc(r.removed, func(o *Member) bool { return o.who.is(who) }):
		return nil, errors.New("the teacher has removed you from this class: ask to be let in again")
	case r.locked:
		return nil, errors.New("the class is locked: the teacher opens it")
	case len(r.members) >= r.most:
		return nil, fmt.Errorf("the class is full, with %d in it: come back later", r.most)
	}
	taken := func(n string) bool {
		return slices.ContainsFunc(r.members, func(m *Member) bool { return m.name == n })
	}
	own := who.name
	for i := 2; taken(own); i++ {
		own = fmt.Sprintf("%s %d", who.name, i)
	}
	r.numbers++
	r.seen.add(who)
	m := &Member{room: r, who: who, name: own, number: r.numbers, send: send, end: end, follows: r.driving}
	r.members = append(r.members, m)
	if r.driving && r.shown.Line != "" {
		send(r.shown)
	}
	return m, nil
}

// leave takes a student out, whose predictions still count, and reports whether the teacher did.
func (r *Room) leave(m *Member) (removed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members = slices.DeleteFunc(r.members, func(o *Member) bool { return o == m })
	return m.removed
}

// Teaches reports whether this is the teacher's side.
func (m *Member) Teaches() bool { return m.teaches }

// Now returns how the class stands. The teacher's side alone lists the students, in the order in which they came.
func (m *Member) Now() lab.Register {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	now := lab.Register{Door: m.room.door, Name: m.name, Driven: m.room.driving, Locked: m.room.locked}
	if !m.teaches {
		return now
	}
	for _, o := range m.room.members {
		if o.removed { // the visit is about to end
			continue
		}
		s := lab.Student{Number: o.number, Name: o.name, Follows: o.follows, Place: o.place}
		for _, a := range m.room.attempts {
			if a.who[o.name] {
				s.Reached++
			}
		}
		for _, q := range m.room.asked {
			if said, ok := q.answers[o.name]; ok {
				s.Asked++
				if said.Right {
					s.Right++
				}
			}
		}
		now.Students = append(now.Students, s)
	}
	removed := func(o *Member) lab.Student { return lab.Student{Number: o.number, Name: o.name, Removed: true} }
	now.Removed = collect.Map(m.room.removed, removed)
	return now
}

// Show sends what is on the teacher's screen to the students who follow, if it is another
// moment than before.
func (m *Member) Show(msg lab.FollowMsg) {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	if !m.teaches || msg == m.room.shown {
		return
	}
	m.room.shown = msg
	for _, o := range m.room.members {
		if o.follows {
			o.send(msg)
		}
	}
}

// Report keeps where a student is.
func (m *Member) Report(p lab.Place) {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	m.place = p
	if !m.present() || !p.Task {
		return
	}
	a := collect.Entry(&m.room.attempts, p.Lesson)
	a.title = cmp.Or(a.title, p.Title)
	collect.Put(&a.who, m.name, a.who[m.name] || p.Reached)
}

// present reports whether this is a student who has not left. The room is locked.
func (m *Member) present() bool { return !m.teaches && slices.Contains(m.room.members, m) }

// Predict keeps what a student predicts of a question.
func (m *Member) Predict(q lab.Question, said lab.Prediction) {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	if !m.present() {
		return
	}
	i := slices.IndexFunc(m.room.asked, func(a *asked) bool { return a.ID == q.ID })
	if i < 0 {
		if len(m.room.asked) >= mostAsked {
			m.room.asked = slices.Delete(m.room.asked, 0, 1)
		}
		i = len(m.room.asked)
		m.room.asked = append(m.room.asked, &asked{q, map[string]lab.Prediction{}})
	}
	m.room.asked[i].answers[m.name] = said
}

// Tally returns what the students predict of a question, and how many of those that it waits for still have to.
func (m *Member) Tally(id string) lab.Tally {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	q := &asked{}
	if i := slices.IndexFunc(m.room.asked, func(a *asked) bool { return a.ID == id }); i >= 0 {
		q = m.room.asked[i]
	}
	t := q.tally()
	driven := slices.ContainsFunc(m.room.members, func(o *Member) bool { return o.follows })
	for _, o := range m.room.members {
		if _, said := q.answers[o.name]; !said && !o.removed && (o.follows || !driven) {
			t.Waits++
		}
	}
	return t
}

func (q *asked) tally() lab.Tally {
	t := lab.Tally{Question: q.Question}
	for _, said := range q.answers {
		count(said.Admitted, &t.Admitted, &t.Denied)
		count(said.Right, &t.Right, &t.Missed)
	}
	return t
}

// count adds one to what holds.
func count(yes bool, those, others *int) {
	if !yes {
		those = others
	}
	*those++
}

// Tallies returns what was predicted, the latest question first, and the tasks of lessons that students have opened.
func (m *Member) Tallies() []lab.Tally {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	var list []lab.Tally
	for _, q := range slices.Backward(m.room.asked) {
		list = append(list, q.tally())
	}
	for _, number := range slices.Sorted(maps.Keys(m.room.attempts)) {
		a := m.room.attempts[number]
		t := lab.Tally{Question: lab.Question{Text: fmt.Sprintf("%d %s", number+1, a.title)}, Task: true}
		for _, reached := range a.who {
			count(reached, &t.Right, &t.Missed)
		}
		list = append(list, t)
	}
	return list
}

// lead changes the room, which is locked then, for the teacher alone: on a student's side nothing happens.
func (m *Member) lead(change func(r *Room)) {
	if !m.teaches {
		return
	}
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	change(m.room)
}

// Call lets the lab of one student follow, or frees it; those of all, and of who comes in, where number is 0.
func (m *Member) Call(number int, on bool) {
	m.lead(func(r *Room) {
		if number == 0 {
			r.driving, r.shown = on, lab.FollowMsg{}
		}
		for _, o := range r.members {
			switch {
			case number != 0 && o.number != number:
				continue
			case on: // the teacher's lab shows it again
				r.shown = lab.FollowMsg{}
			default:
				o.send(lab.FollowMsg{})
			}
			o.follows = on
		}
	})
}

// Lock keeps others out, or ends that.
func (m *Member) Lock(on bool) { m.lead(func(r *Room) { r.locked = on }) }

// Readmit lets a student who was removed come back.
func (m *Member) Readmit(number int) {
	m.lead(func(r *Room) {
		r.removed = slices.DeleteFunc(r.removed, func(o *Member) bool { return o.number == number })
	})
}

// Remove ends the visit of a student, who cannot come back.
func (m *Member) Remove(number int) {
	m.lead(func(r *Room) {
		for _, o := range collect.Only(r.members, func(o *Member) bool { return o.number == number }) {
			o.removed, o.who.alone = true, r.seen.alone(o.who)
			r.removed = append(r.removed, o)
			o.end()
		}
	})
}

// defends reports whether the half of this student defends.
func (m *Member) defends() bool { return m.number%2 == 1 }

// Play begins the game anew, or ends it.
func (m *Member) Play(on bool) {
	m.lead(func(r *Room) {
		r.playing, r.defences = on, nil
		for _, o := range r.members {
			o.send(lab.PlayMsg{})
		}
	})
}

// Game returns how the game stands.
func (m *Member) Game() lab.Game {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	return lab.Game{On: m.room.playing, Defends: m.defends(), Defences: slices.Clone(m.room.defences)}
}

// Move takes the limiter of a student who defends, or the traffic of one who attacks the limiter of student number. Traffic
// is played here: what a student's lab says of it does not count.
func (m *Member) Move(number int, line string) error {
	moment, err := engine.ReadShared(line)
	if err != nil {
		return err
	}
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	switch {
	case !m.room.playing:
		return errors.New("the game is over")
	case !m.present():
		return errors.New("only students play")
	case m.defends():
		return m.defend(moment)
	}
	i := slices.IndexFunc(m.room.defences, func(d lab.Defence) bool { return d.Number == number })
	if i < 0 {
		return errors.New("this limiter is not in the game")
	}
	d := &m.room.defences[i]
	defence, err := engine.ReadShared(d.Line)
	if err != nil {
		return err
	}
	win, broken := engine.Judge(defence, moment)
	if broken.Most <= defence.Setup.Limit.Count {
		return errors.New("this traffic does not break the limiter as it was handed in: open it again")
	}
	if d.By != "" && d.Broken.Requests <= broken.Requests {
		return nil
	}
	win.View = "compare"
	if d.Win, err = win.Line(); err == nil {
		d.By, d.Broken = m.name, broken
	}
	return err
}

// defend takes a limiter, in place of the student's one before where that was not broken.
func (m *Member) defend(moment engine.Shared) error {
	moment.Fired, moment.Left, moment.Traffic, moment.Now = nil, nil, nil, moment.Setup.Zero
	line, err := moment.Line()
	if err != nil {
		return err
	}
	d := lab.Defence{Number: m.number, Name: m.name, Limiter: moment.Setup.Candidates[moment.Selected].String(), Line: line}
	switch i := slices.IndexFunc(m.room.defences, func(o lab.Defence) bool { return o.Number == m.number }); {
	case i < 0:
		m.room.defences = append(m.room.defences, d)
	case m.room.defences[i].By != "":
		return errors.New("your limiter was broken by " + m.room.defences[i].By + ": what was handed in stays")
	default:
		m.room.defences[i] = d
	}
	return nil
}
