package widget

import (
	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/textinput"
	"charm.land/lipgloss/v2"

	"ratescope/themes"
	"ratescope/tui/chart"
)

// Lip returns a style as lipgloss has it, for bubbles.
func Lip(s themes.Style) lipgloss.Style {
	st := lipgloss.NewStyle()
	if c := s.Fg.Color(); c != nil {
		st = st.Foreground(c)
	}
	if c := s.Bg.Color(); c != nil {
		st = st.Background(c)
	}
	return st.Bold(s.Attr&themes.Bold != 0).Underline(s.Attr&themes.Underline != 0)
}

// HelpStyles are the styles of the help bubble in a look.
func HelpStyles(l chart.Look) help.Styles {
	key, text, faint := Lip(l.Accent), Lip(l.Dim), Lip(l.Faint)
	return help.Styles{Ellipsis: faint, ShortKey: key, ShortDesc: text, ShortSeparator: faint, FullKey: key, FullDesc: text,
		FullSeparator: faint}
}

// NewInput returns a focused line of text in a look, on a ground. Its cursor does not
// blink, so that nothing is redrawn while nothing changes.
func NewInput(l chart.Look, prompt string, ground themes.Ink) textinput.Model {
	m := textinput.New()
	m.Prompt = prompt
	state := textinput.StyleState{Text: Lip(l.Text.On(ground)), Prompt: Lip(l.Accent.On(ground)), Placeholder: Lip(l.Dim.On(ground)),
		Suggestion: Lip(l.Dim.On(ground))}
	m.SetStyles(textinput.Styles{Focused: state, Blurred: state, Cursor: textinput.CursorStyle{Color: l.Accent.Fg.Color()}})
	m.CharLimit = 256
	m.Focus()
	return m
}
