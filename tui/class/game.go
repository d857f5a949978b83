package class

import (
	"errors"
	"slices"

	engine "ratescope/model/lab"
	"ratescope/tui/lab"
)

// game is attack and defend: students with odd numbers hand in limiters, and the others traffic that breaks them.
type game struct {
	defences []lab.Defence // in the order in which they were handed in first
}

// defends reports whether the half of this student defends.
func (m *Member) defends() bool { return m.number%2 == 1 }

// Play begins the game anew, or ends it. It is the teacher's alone.
func (m *Member) Play(on bool) error {
	return m.lead(func(r *Room) error {
		if r.game = nil; on {
			r.game = &game{}
		}
		return nil
	})
}

// Game returns how the game stands.
func (m *Member) Game() lab.Game {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	g := lab.Game{Defends: m.defends(), Number: m.number}
	if m.room.game != nil {
		g.On, g.Defences = true, slices.Clone(m.room.game.defences)
	}
	return g
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
	g := m.room.game
	switch {
	case g == nil:
		return errors.New("the game is over")
	case !m.present():
		return errors.New("only students play")
	case m.defends():
		return g.defend(m, moment)
	}
	i := slices.IndexFunc(g.defences, func(d lab.Defence) bool { return d.Number == number })
	if i < 0 {
		return errors.New("this limiter is not in the game")
	}
	d := &g.defences[i]
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
func (g *game) defend(m *Member, moment engine.Shared) error {
	moment.Fired, moment.Left, moment.Traffic, moment.Now = nil, nil, nil, moment.Setup.Zero
	line, err := moment.Line()
	if err != nil {
		return err
	}
	d := lab.Defence{Number: m.number, Name: m.name, Limiter: moment.Setup.Candidates[moment.Selected].String(), Line: line}
	switch i := slices.IndexFunc(g.defences, func(o lab.Defence) bool { return o.Number == m.number }); {
	case i < 0:
		g.defences = append(g.defences, d)
	case g.defences[i].By != "":
		return errors.New("your limiter was broken by " + g.defences[i].By + ": what was handed in stays")
	default:
		g.defences[i] = d
	}
	return nil
}
